import { setMaxListeners } from 'node:events';
import { fstatSync, readFileSync, statSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { createInexactError, replacement } from './cli/exact-arguments.ts';
import { exitCodes, isSystemError, UsageError } from './base/errors.ts';
import { run } from './run.ts';
import type { EndSignal, OutputStream } from './base/world.ts';

/** Provides the process's streams, clock and signals to the program as a `World`. No other part of the program uses those of `process`. */

/** Path of the null device. `node:os` provides it too, but would be loaded only for this. */
const nullDevice = process.platform === 'win32' ? String.raw`\\.\nul` : '/dev/null';

/** True if a file descriptor is a terminal. Most other descriptors are recognized without loading `node:tty`. */
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
 * Why nothing can be read from stdin; undefined if something can. If the program was started with stdin closed, Node.js opens the null
 * device for reading and writing; a user who redirects from the null device opens it for reading only. A directory or a block device is an
 * empty stream in Node.js.
 */
function findStdinObstacle(): string | undefined {
  try {
    const stats = fstatSync(0);
    if (stats.isDirectory() || stats.isBlockDevice()) return stats.isDirectory() ? 'is a directory' : 'is a block device';
    if (!stats.isCharacterDevice() || stats.rdev !== statSync(nullDevice).rdev) return undefined;
    writeSync(0, Buffer.alloc(1));
    return 'is closed';
  } catch {
    return undefined;
  }
}

/** Calls `work` before one of these signals ends the process, to restore the terminal. */
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

/** Writes as much as a file descriptor accepts without waiting; returns the rest. */
function writeNow(fd: number, text: string): Uint8Array {
  let rest: Uint8Array = Buffer.from(text);
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
  } catch (error) {
    // Another process has made the pipe non-blocking: the stream waits for its reader.
    if (!isSystemError(error) || error.code !== 'EAGAIN') throw error;
  }
  return rest;
}

/** False while the process is in the background of a shell, where using the terminal would stop it (SIGTTOU, SIGTTIN). Linux only. */
function isForeground(): boolean {
  try {
    // The second field, a name in parentheses, may contain any characters. Then: state, parent, group, session, terminal, foreground group.
    const fields = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)?.split(' ') ?? [];
    return fields[5] === '-1' || fields[2] === fields[5];
  } catch {
    return true;
  }
}

/** A stream of the process, opened on first use because that loads a large part of Node.js. */
function outputStream(fd: number, open: () => NodeJS.WriteStream): OutputStream & { isWritten: () => boolean } {
  let opened: NodeJS.WriteStream | undefined;
  let terminal: boolean | undefined;
  const get = (): NodeJS.WriteStream => {
    if (opened) return opened;
    opened = open();
    // Write callbacks report errors too; without a listener, errors would end the process.
    opened.on('error', () => undefined);
    return opened;
  };
  return {
    get stream() {
      return get();
    },
    // Data that the stream has buffered must come first.
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

/** Raw arguments of the process; undefined if the system does not provide them. */
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

/** True if the name of the current directory, as Node.js decoded it, leads to that directory. */
function isExact(folder: string): boolean {
  const [named, real] = [statSync(folder, { bigint: true, throwIfNoEntry: false }), statSync('.', { bigint: true })];
  return named?.ino === real.ino && named.dev === real.dev;
}

/** The current directory. If it has been deleted, only code that needs it fails. */
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

const signals: readonly EndSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Shells, whose children inherit ignored signals on purpose; in other programs, `system()` ignores signals in the parent only. */
const shells = /^-?(?:ba|da|z|k|mk|a|fi)?sh$/;
/** Bit of SIGINT in `SigIgn` of /proc/PID/status. */
const interruptBit = 1n << 1n;

/** True if the parent is a shell that ignores SIGINT (`trap '' INT`), as its children should. Node.js resets inherited dispositions. */
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

/** Signals that must not end the program: SIGHUP if it uses no terminal, and signals that the parent process ignores. */
function findIgnored(): Set<EndSignal> {
  const named = new Set((process.env['CLOUD_IGNORE_SIGNALS'] ?? '').toUpperCase().split(/[\s,]+/));
  const isIgnored = (name: EndSignal): boolean => {
    if (named.has(name) || named.has(name.slice('SIG'.length))) return true;
    if (name === 'SIGHUP') return !usesTerminal();
    return name === 'SIGINT' && isInterruptIgnored();
  };
  return new Set(signals.filter(isIgnored));
}

/** Milliseconds after which a command without cleanup checks which signals to ignore. */
const longRun = 200;

/** Makes a command that needs no cleanup survive signals that it should ignore. Delayed, because most commands end earlier. */
function keepRunning(): void {
  const ignore = (): void => findIgnored().forEach((name) => process.on(name, () => undefined));
  // A short command ends before this turn of the event loop, and creates no timer.
  setImmediate(() => void setTimeout(ignore, longRun).unref());
}

/** Creates the signal that interrupts the program. Until it is first used, no work needs cleanup, and signals have their default effect. */
function listenForInterruption(onSignal: (name: EndSignal) => void): AbortSignal {
  const interruption = new AbortController();
  // Each waiting transfer adds a listener: many listeners are no leak.
  setMaxListeners(0, interruption.signal);
  const ignored = findIgnored();
  for (const name of signals) {
    process.on(name, () => {
      if (ignored.has(name)) return;
      onSignal(name);
      interruption.abort();
    });
  }
  // A second signal ends the process immediately.
  interruption.signal.addEventListener('abort', () => obeySignals(signals.filter((name) => !ignored.has(name))));
  return interruption.signal;
}

/** Does work during which signals have their default effect. */
function runKillable<T>(work: () => T): T {
  const kept = signals.map((signal) => ({ signal, listeners: process.listeners(signal) }));
  obeySignals();
  try {
    return work();
  } finally {
    for (const { signal, listeners } of kept) for (const listener of listeners) process.on(signal, listener);
  }
}

/** Gives signals to a listener instead of all others, until the returned function is called. */
function takeSignals(receive: (name: EndSignal) => void): () => void {
  const ignored = findIgnored();
  const taken = signals.map((name) => {
    const others = process.listeners(name);
    const listener = (): void => {
      if (!ignored.has(name)) receive(name);
    };
    // At no time without a listener: the signal would end the process.
    process.on(name, listener);
    others.forEach((other) => process.off(name, other));
    return { name, listener, others };
  });
  return () => {
    for (const { name, listener, others } of taken) {
      others.forEach((other) => process.on(name, other));
      process.off(name, listener);
    }
  };
}

/** Restores the default effect of signals: a thread that waits for a device would otherwise keep the process from ending. */
function obeySignals(names: readonly EndSignal[] = signals): void {
  for (const name of names) process.removeAllListeners(name);
}

/** Ends the process by the signal, after all work: with exit code 130 alone, a shell would continue its loop and systemd report success. */
function endBySignal(name: EndSignal): void {
  obeySignals();
  process.on('exit', () => void process.kill(process.pid, name));
}

/** Milliseconds that connections and name lookups have to end by themselves after the work is done. */
const grace = 100;

const nodeRelease = Number.parseInt(process.versions.node, 10);

/** Releases of Node.js from this one on gain nothing by `optimizeLater`. */
const firstQuick = 22;

/**
 * The first release of Node.js whose `process.exit` can wait forever (Node.js issue 54918): for a background thread that compiles, which
 * waits for a garbage collection of the main thread. A process whose event loop runs empty ends with certainty.
 */
const firstWithHang = 24;

/** Runs the program in this process, to its end. @param cacheProblem the reason why the cache is not used; undefined if it is */
export async function main(cacheProblem: string | undefined): Promise<void> {
  // If the event loop runs empty, the program ends before its work is done.
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
      get obstacle() {
        return findStdinObstacle();
      },
    },
    stdout,
    stderr,
    now: Date.now,
    get cwd() {
      return findFolder();
    },
    // Uses the environment variable if possible: `homedir()` loads more code.
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
    takeSignals,
    onHangup: (listener) => void process.on('SIGHUP', () => (usesTerminal() ? undefined : listener())),
    heedsSignals: () => interrupted !== undefined,
    beforeHangup,
    runKillable,
    ...(nodeRelease < firstQuick && {
      optimizeLater: async () => {
        const { optimizeLater } = await import('./base/optimize-later.ts');
        optimizeLater((undo) => process.prependListener('exit', undo));
      },
    }),
  });
  if (process.exitCode === exitCodes.interrupted) endBySignal(signalled);
  // Only unwritten output may delay the exit; an orderly shutdown takes as long as printing a table.
  if (nodeRelease < firstWithHang && stdout.isWritten() && stderr.isWritten()) process.exit();
  setTimeout(() => process.exit(), grace).unref();
}
