import { setMaxListeners } from 'node:events';
import { fstatSync, statSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { exitCodes, isSystemError, UsageError } from './errors.ts';
import { run } from './run.ts';
import type { OutputStream } from './world.ts';

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
    columns: () => get().columns || 80,
    rows: () => get().rows || 24,
    isWritten: () => opened === undefined || opened.writableLength === 0,
  };
}

/** The current directory. Somebody may have removed it, which matters to those only who ask for it. */
function findFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new UsageError('the current directory does not exist any more', {
      cause: error,
      hint: 'cd to one that does, or give whole paths',
    });
  }
}

/** What a user ends the program with. */
const signals = ['SIGINT', 'SIGTERM'] as const;

/** What ends when somebody interrupts the process. Until it is asked for, there is nothing to bring to an end, and signals do what they always do. */
function listenForInterruption(onSignal: (name: string) => void): AbortSignal {
  const interruption = new AbortController();
  // Each transfer that waits listens to it: many are no mistake.
  setMaxListeners(0, interruption.signal);
  for (const name of signals) {
    process.on(name, () => {
      onSignal(name);
      interruption.abort();
    });
  }
  // The second time there is no more waiting for an orderly end.
  interruption.signal.addEventListener('abort', obeySignals);
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
function obeySignals(): void {
  for (const name of signals) process.removeAllListeners(name);
}

/** Ends the process by the signal, when all else is done: a shell goes on with its loop when a program only says 130. */
function endBySignal(): void {
  obeySignals();
  process.on('exit', () => void process.kill(process.pid, 'SIGINT'));
}

/** Milliseconds after the work is done within which connections and look-ups of names must have ended by themselves. */
const grace = 100;

/** Runs the program in this process, to its end. */
export async function main(): Promise<void> {
  // A program that ends because nothing is left to wait for has not done its work.
  process.exitCode = exitCodes.failed;
  const stdout = outputStream(1, () => process.stdout);
  const stderr = outputStream(2, () => process.stderr);
  let interrupted: AbortSignal | undefined;
  let signalled = 'SIGINT';
  process.exitCode = await run({
    argv: process.argv.slice(2),
    env: process.env,
    stdin: {
      get stream() {
        return process.stdin;
      },
      get isTerminal() {
        return isTerminal(0);
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
    release: process.version,
    get interrupted() {
      return (interrupted ??= listenForInterruption((name) => (signalled = name)));
    },
    heedsSignals: () => interrupted !== undefined,
    runKillable,
  });
  if (process.exitCode === exitCodes.interrupted && signalled === 'SIGINT') endBySignal();
  // Nothing waits for the network at exit, only for a slow reader of what was written. Tidying up would take as long as a table.
  if (stdout.isWritten() && stderr.isWritten()) process.exit();
  setTimeout(() => process.exit(), grace).unref();
}
