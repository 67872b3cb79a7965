import { closeSync, lstatSync, writeFileSync } from 'node:fs';
import { LocalError } from './errors.ts';
import { createPrivate, makeMissingFolders, parentOf, readPrivate, removeQuietly, UntrustedFile } from './private-files.ts';
import { isAlive } from './world.ts';

/** Milliseconds to wait for a lock. */
const longestWait = 10_000;
const betweenTries = 20;

/** A lock file: there is none, its process has ended, or it is held. The id is undefined while a new lock file is still empty. */
type LockState = 'free' | 'stale' | { readonly pid: number | undefined };

function readLock(path: string): LockState {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 'free';
  try {
    const pid = Number(readPrivate(path, 32));
    if (pid > 0) return isAlive(process, pid) ? { pid } : 'stale';
  } catch (error) {
    if (error instanceof UntrustedFile)
      throw new LocalError(error.message, { hint: `if no other process uses it: rm ${path}`, cause: error });
  }
  return Date.now() - stats.mtimeMs < longestWait ? { pid: undefined } : 'stale';
}

/** Creates a lock file; false if there is one. */
function takeLock(path: string): boolean {
  let file: number;
  try {
    file = createPrivate(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  try {
    writeFileSync(file, String(process.pid));
  } catch {
    // On a full disk the lock file stays empty but still locks; the work then reports what cannot be written.
  } finally {
    closeSync(file);
  }
  return true;
}

/**
 * Removes the lock of a process that has ended; false if another process is doing so. Whoever removes it holds a second lock: otherwise two
 * processes could find the same stale lock, and the slower one would remove the new lock of the faster one. The second lock may be stale
 * too, and is then removed in the same way.
 */
function removeStale(path: string): boolean {
  const guard = `${path}.stale`;
  if (!takeLock(guard)) return readLock(guard) === 'stale' && removeStale(guard) && removeStale(path);
  try {
    if (readLock(path) === 'stale') removeQuietly(path);
  } finally {
    removeQuietly(guard);
  }
  return true;
}

/**
 * Does work under a lock between processes. Takes over the lock of a process that has ended.
 * @throws {LocalError} if another process holds the lock for 10 s
 */
export function withLock<T>(path: string, work: () => T): T {
  makeMissingFolders(parentOf(path));
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const end = Date.now() + longestWait;
  while (!takeLock(path)) {
    const state = readLock(path);
    if (Date.now() > end) {
      const pid = typeof state === 'object' && state.pid !== undefined ? ` (${state.pid})` : '';
      throw new LocalError(`${path} is held by another process${pid}`, { hint: `if no such process exists: rm ${path}` });
    }
    const isRemoved = state === 'stale' && removeStale(path);
    if (state !== 'free' && !isRemoved) Atomics.wait(sleeper, 0, 0, betweenTries);
  }
  try {
    return work();
  } finally {
    removeQuietly(path);
  }
}
