import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { createInexactError, replacement } from './cli/exact-arguments.ts';
import { exitCodes, isSystemError, UsageError } from './base/errors.ts';
import { run } from './run.ts';
import { beforeHangup, endBySignal, keepRunning, listenForInterruption, runKillable, takeSignals } from './signals.ts';
import { findStdinObstacle, isTerminal, outputStream, usesTerminal } from './streams.ts';
import type { EndSignal } from './base/world.ts';

/** Provides the process's streams (`streams.ts`), clock and signals (`signals.ts`) to the program as a `World`. No other part uses those of `process`. */

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

/** Milliseconds that connections and name lookups have to end by themselves after the work is done. */
const grace = 100;

const nodeRelease = Number.parseInt(process.versions.node, 10);

/** From this release of Node.js on, `putOff` is of no use. */
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
      putOff: async (preparation) => {
        const { putOff } = await import('./base/put-off.ts');
        return putOff(preparation, (undo) => process.prependListener('exit', undo));
      },
    }),
  });
  if (process.exitCode === exitCodes.interrupted) endBySignal(signalled);
  // Only unwritten output may delay the exit; an orderly shutdown takes as long as printing a table.
  if (nodeRelease < firstWithHang && stdout.isWritten() && stderr.isWritten()) process.exit();
  setTimeout(() => process.exit(), grace).unref();
}
