import { setMaxListeners } from 'node:events';
import { fstatSync } from 'node:fs';
import { homedir } from 'node:os';
import { exitCodes } from './errors.ts';
import { run } from './run.ts';
import type { OutputStream } from './world.ts';

/** The process's streams, clock and signals as the world that the program runs in. Nothing else touches `process`. */

/** Whether a file descriptor is a terminal. Most that are none are told from one without loading what knows terminals. */
function isTerminal(fd: number): boolean {
  try {
    if (!fstatSync(fd).isCharacterDevice()) return false;
  } catch {
    return false;
  }
  return process.getBuiltinModule('node:tty').isatty(fd);
}

/** A stream of the process, made when something is first written to it: that loads a good part of Node.js. */
function outputStream(fd: number, open: () => NodeJS.WriteStream): OutputStream {
  let opened: NodeJS.WriteStream | undefined;
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
    isTerminal: isTerminal(fd),
    columns: () => get().columns || 80,
    rows: () => get().rows || 24,
  };
}

/** What ends when somebody interrupts the process. */
function listenForInterruption(): AbortSignal {
  const interruption = new AbortController();
  // Each transfer that waits listens to it: many are no mistake.
  setMaxListeners(0, interruption.signal);
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(signal, () => {
      // The second time there is no more waiting for an orderly end.
      if (interruption.signal.aborted) process.exit(code);
      interruption.abort();
    });
  }
  return interruption.signal;
}

/** Milliseconds after the work is done within which connections and look-ups of names must have ended by themselves. */
const grace = 100;

/** Runs the program in this process, to its end. */
export async function main(): Promise<void> {
  // A program that ends because nothing is left to wait for has not done its work.
  process.exitCode = exitCodes.failed;
  process.exitCode = await run({
    argv: process.argv.slice(2),
    env: process.env,
    stdin: {
      get stream() {
        return process.stdin;
      },
      isTerminal: isTerminal(0),
    },
    stdout: outputStream(1, () => process.stdout),
    stderr: outputStream(2, () => process.stderr),
    now: Date.now,
    cwd: process.cwd(),
    home: homedir(),
    pid: process.pid,
    kill: (pid, signal) => void process.kill(pid, signal),
    executable: process.execPath,
    program: process.argv[1] ?? '',
    interrupted: listenForInterruption(),
  });
  // Nothing waits for the network at exit.
  setTimeout(() => process.exit(), grace).unref();
}
