import { closeSync, linkSync, lstatSync, renameSync, writeFileSync } from 'node:fs';
import { createPrivate, makeMissingFolders, parentOf, readPrivate, removeQuietly, UntrustedFile } from './private-files.ts';
import { isAlive } from './world.ts';

/** Milliseconds to wait for a lock. */
const longestWait = 10_000;
const betweenTries = 20;

/** The process that holds a lock; undefined when there is none. A lock file that was just created may still be empty (`pid` undefined). */
function findHolder(path: string): { pid: number | undefined } | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  try {
    const pid = Number(readPrivate(path, 32));
    if (pid > 0) return isAlive(process, pid) ? { pid } : undefined;
  } catch (error) {
    if (error instanceof UntrustedFile) throw error;
  }
  return Date.now() - stats.mtimeMs < longestWait ? { pid: undefined } : undefined;
}

/** Removes the lock of a process that has ended. If another process has replaced it by a new lock meanwhile, the new lock is restored. */
function removeStale(path: string): void {
  const aside = `${path}.${Math.random().toString(36).slice(2)}`;
  try {
    renameSync(path, aside);
    if (findHolder(aside) !== undefined) linkSync(aside, path);
  } catch {
    // Another process was faster.
  }
  removeQuietly(aside);
}

function takeLock(path: string): void {
  const file = createPrivate(path);
  try {
    writeFileSync(file, String(process.pid));
  } catch {
    // On a full disk the lock file stays empty but still locks; the work then reports what cannot be written.
  } finally {
    closeSync(file);
  }
}

/** Does work under a lock between processes. Takes over the lock of a process that has ended. @throws {UntrustedFile} after 10 s */
export function withLock<T>(path: string, work: () => T): T {
  makeMissingFolders(parentOf(path));
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const end = Date.now() + longestWait;
  for (;;) {
    try {
      takeLock(path);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = findHolder(path);
    if (holder === undefined) removeStale(path);
    else if (Date.now() > end)
      throw new UntrustedFile(`${path} is held by another process${holder.pid === undefined ? '' : ` (${holder.pid})`}`);
    else Atomics.wait(sleeper, 0, 0, betweenTries);
  }
  try {
    return work();
  } finally {
    removeQuietly(path);
  }
}
