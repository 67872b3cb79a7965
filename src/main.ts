import { setMaxListeners } from 'node:events';
import { fstatSync, readFileSync, statSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { createInexactError, replacement } from './cli/exact-arguments.ts';
import { exitCodes, isSystemError, UsageError } from './base/errors.ts';
import { run } from './run.ts';
import type { OutputStream } from './base/world.ts';

/** The process's streams, clock and signals as the world that the program runs in. Nothing else touches `process`. */

/** What a program reads and writes that has nobody at the other end; `node:os` knows it too, which nothing else is loaded for. */
const nullDevice = process.platform === 'win32' ? String.raw`\\.\nul` : '/dev/null';

/** Whether a file descriptor is a terminal. Most that are none are told from one without loading what knows terminals. */
function isTerminal(fd: number): boolean {
  try {
    const stats = fstatSync(fd);
    if (!stats.isCharacterDevice() || stats.rdev === statSync(nullDevice).rdev) return false;
  } catch {
    return false;
  }
  return process.getBuiltinModule('node:tty').isatty(fd);
}

/**
 * Whether the program was started without stdin. Node.js opens the null device in its place, for reading and writing; who means nothing gives it for
 * reading.
 */
function isStdinClosed(): boolean {
  try {
    const stats = fstatSync(0);
    if (!stats.isCharacterDevice() || stats.rdev !== statSync(nullDevice).rdev) return false;
    writeSync(0, Buffer.alloc(1));
    return true;
  } catch {
    return false;
  }
}

/** Does work before one of these signals ends the process: a terminal is to be left as it was. */
function beforeHangup(work: () => void): () => void {
  const names = ['SIGHUP', 'SIGQUIT'] as const;
  const listeners = names.map((name) => {
    const end = (): void => {
      work();
      process.off(name, end);
      process.kill(process.pid, name);
    };
    process.on(name, end);
    return { name, end };
  });
  return () => listeners.forEach(({ name, end }) => process.off(name, end));
}

/** Writes what a file descriptor takes at once; returns the rest. */
function writeNow(fd: number, text: string): Uint8Array {
  let rest: Uint8Array = Buffer.from(text);
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
  } catch (error) {
    // Somebody made the pipe one that does not wait for its reader: the stream does.
    if (!isSystemError(error) || error.code !== 'EAGAIN') throw error;
  }
  return rest;
}

/** Whether the process may use its terminal: in the background of a shell it would be stopped (SIGTTOU, SIGTTIN). Only Linux tells. */
function isForeground(): boolean {
  try {
    // The second field, a name in parentheses, may have any characters. After it: state, parent, group, session, terminal, group in the foreground.
    const fields = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)?.split(' ') ?? [];
    return fields[5] === '-1' || fields[2] === fields[5];
  } catch {
    return true;
  }
}

/** A stream of the process, made when something is first written to it: that loads a good part of Node.js. */
function outputStream(fd: number, open: () => NodeJS.WriteStream): OutputStream & { isWritten: () => boolean } {
  let opened: NodeJS.WriteStream | undefined;
  let terminal: boolean | undefined;
  const get = (): NodeJS.WriteStream => {
    if (opened) return opened;
    opened = open();
    // Errors of a stream come through its write callbacks too; without a listener they would end the process.
    opened.on('error', () => undefined);
    return opened;
  };
  return {
    get stream() {
      return get();
    },
    // What the stream has yet to write comes first.
    writeEarly: (text) => (opened ? Buffer.from(text) : writeNow(fd, text)),
    get isTerminal() {
      return (terminal ??= isTerminal(fd));
    },
    isForeground,
    columns: () => get().columns || 80,
    rows: () => get().rows || 24,
    isWritten: () => opened === undefined || opened.writableLength === 0,
  };
}

/** Arguments of the process as the system has them, where it says. */
function readArguments(): readonly Uint8Array[] | undefined {
  try {
    const bytes = readFileSync('/proc/self/cmdline');
    const all: Uint8Array[] = [];
    for (let at = 0, end = bytes.indexOf(0); end >= 0; at = end + 1, end = bytes.indexOf(0, at)) all.push(bytes.subarray(at, end));
    return all;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
}

/** Whether the current directory is the one that its name, as Node.js read it, leads to. */
function isExact(folder: string): boolean {
  const [named, real] = [statSync(folder, { bigint: true, throwIfNoEntry: false }), statSync('.', { bigint: true })];
  return named?.ino === real.ino && named.dev === real.dev;
}

/** The current directory. Somebody may have removed it, which matters to those only who ask for it. */
function findFolder(): string {
  let folder: string;
  try {
    folder = process.cwd();
  } catch (error) {
    throw new UsageError('the current directory does not exist any more', {
      cause: error,
      hint: 'cd to one that does, or give whole paths',
    });
  }
  if (folder.includes(replacement) && !isExact(folder)) throw createInexactError(folder);
  return folder;
}

/** What ends the program in order. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

type EndSignal = (typeof signals)[number];

/** Programs whose children ignore a signal because they do: of other programs, `system()` ignores it in the parent alone. */
const shells = /^-?(?:ba|da|z|k|mk|a|fi)?sh$/;
/** Bit of SIGINT in the set of ignored signals that Linux shows. */
const interruptBit = 1n << 1n;

/** Whether the shell that started the program ignores SIGINT (`trap '' INT`), as its children should. Node.js takes what it inherits back. */
function isInterruptIgnored(): boolean {
  try {
    const status = readFileSync(`/proc/${process.ppid}/status`, 'latin1');
    const [, name = ''] = /^Name:\t(.*)$/m.exec(status) ?? [];
    const [, ignored = '0'] = /^SigIgn:\t([\da-f]+)$/m.exec(status) ?? [];
    return shells.test(name) && (BigInt(`0x${ignored}`) & interruptBit) !== 0n;
  } catch {
    return false;
  }
}

function usesTerminal(): boolean {
  return [0, 1, 2].some(isTerminal);
}

/** Signals that do not end the program: the end of a terminal that it does not use, and those that whoever started it ignores. */
function findIgnored(): Set<EndSignal> {
  const named = new Set((process.env['CLOUD_IGNORE_SIGNALS'] ?? '').toUpperCase().split(/[\s,]+/));
  const isIgnored = (name: EndSignal): boolean => {
    if (named.has(name) || named.has(name.slice('SIG'.length))) return true;
    if (name === 'SIGHUP') return !usesTerminal();
    return name === 'SIGINT' && isInterruptIgnored();
  };
  return new Set(signals.filter(isIgnored));
}

/** Milliseconds after which a command that only reads is long enough to look which signals it is to ignore. */
const longRun = 200;

/** Lets a command that nothing has to be tidied up after survive what it is to ignore. Unless it takes long, it need not know. */
function keepRunning(): void {
  setTimeout(() => {
    for (const name of findIgnored()) process.on(name, () => undefined);
  }, longRun).unref();
}

/** What ends when somebody interrupts the process. Until it is asked for, there is nothing to bring to an end, and signals do what they always do. */
function listenForInterruption(onSignal: (name: EndSignal) => void): AbortSignal {
  const interruption = new AbortController();
  // Each transfer that waits listens to it: many are no mistake.
  setMaxListeners(0, interruption.signal);
  const ignored = findIgnored();
  for (const name of signals) {
    process.on(name, () => {
      if (ignored.has(name)) return;
      onSignal(name);
      interruption.abort();
    });
  }
  // The second time there is no more waiting for an orderly end.
  interruption.signal.addEventListener('abort', () => obeySignals(signals.filter((name) => !ignored.has(name))));
  return interruption.signal;
}

/** Signals do what they always do while the work is done. */
function runKillable<T>(work: () => T): T {
  const kept = signals.map((signal) => ({ signal, listeners: process.listeners(signal) }));
  obeySignals();
  try {
    return work();
  } finally {
    for (const { signal, listeners } of kept) for (const listener of listeners) process.on(signal, listener);
  }
}

/** Lets signals end the process as they do by themselves: a thread that waits for a device keeps everything else from ending it. */
function obeySignals(names: readonly EndSignal[] = signals): void {
  for (const name of names) process.removeAllListeners(name);
}

/** Ends the process by the signal, when all else is done: a shell goes on with its loop when a program only says 130, and systemd calls it clean. */
function endBySignal(name: EndSignal): void {
  obeySignals();
  process.on('exit', () => void process.kill(process.pid, name));
}

/** Milliseconds after the work is done within which connections and look-ups of names must have ended by themselves. */
const grace = 100;

/** Runs the program in this process, to its end. @param cacheProblem why the cache is not used; undefined when it is */
export async function main(cacheProblem: string | undefined): Promise<void> {
  // A program that ends because nothing is left to wait for has not done its work.
  process.exitCode = exitCodes.failed;
  const stdout = outputStream(1, () => process.stdout);
  const stderr = outputStream(2, () => process.stderr);
  let interrupted: AbortSignal | undefined;
  let signalled: EndSignal = 'SIGINT';
  keepRunning();
  process.exitCode = await run({
    argv: process.argv.slice(2),
    argumentBytes: readArguments,
    env: process.env,
    stdin: {
      get stream() {
        return process.stdin;
      },
      get isTerminal() {
        return isTerminal(0);
      },
      get isClosed() {
        return isStdinClosed();
      },
    },
    stdout,
    stderr,
    now: Date.now,
    get cwd() {
      return findFolder();
    },
    // The variable is what is asked first: without it, this loads what knows users.
    home: process.env['HOME'] ?? homedir(),
    pid: process.pid,
    kill: (pid, signal) => void process.kill(pid, signal),
    executable: process.execPath,
    program: process.argv[1] ?? '',
    system: `${process.platform} ${process.arch}`,
    release: process.version,
    cacheProblem,
    get interrupted() {
      return (interrupted ??= listenForInterruption((name) => (signalled = name)));
    },
    interruptedBy: () => signalled,
    onHangup: (listener) => void process.on('SIGHUP', () => (usesTerminal() ? undefined : listener())),
    heedsSignals: () => interrupted !== undefined,
    beforeHangup,
    runKillable,
  });
  if (process.exitCode === exitCodes.interrupted) endBySignal(signalled);
  // Nothing waits for the network at exit, only for a slow reader of what was written. Tidying up would take as long as a table.
  if (stdout.isWritten() && stderr.isWritten()) process.exit();
  setTimeout(() => process.exit(), grace).unref();
}
