import { watch, type FSWatcher } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError } from '../../base/errors.ts';

/**
 * Tells that something has changed in a tree of files. It is a hint: one for many changes, and none where the system watches no more
 * directories. One watch for each directory is what Linux has; what a library adds to it, the state of each file, the next run reads anyway.
 */
export interface TreeWatch {
  /** Watches directories that are new, and no longer those that are gone. Changes from before are forgotten. */
  refresh(): Promise<void>;
  /** Resolves when something has changed since `refresh`, and then nothing for a moment; or after so many milliseconds, or with the signal. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Milliseconds without a change after which a change is over, and for which that is waited at most. */
const calm = 200;
const longestUnrest = 3000;

/** Directories below a root, with the root itself; of one that cannot be read, and of what is left out, nothing. */
async function* listFolders(root: string, prunes: (rel: string) => boolean, rel = ''): AsyncGenerator<string> {
  const folder = join(root, rel);
  yield folder;
  try {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const below = rel === '' ? entry.name : `${rel}/${entry.name}`;
      if (entry.isDirectory() && !prunes(below)) yield* listFolders(root, prunes, below);
    }
  } catch (error) {
    // The run itself reports what it cannot read.
    if (!isSystemError(error)) throw error;
  }
}

/**
 * @param prunes which directories are left out, by their path below the root
 * @param onLimit called once, when the system watches no more
 */
export function watchTree(root: string, prunes: (rel: string) => boolean, onLimit: (error: Error) => void): TreeWatch {
  let watched = new Map<string, FSWatcher>();
  let changedAt: number | undefined;
  let isLimited = false;
  let tell = (): void => undefined;
  const note = (): void => {
    changedAt = performance.now();
    tell();
  };

  function watchFolder(folder: string): FSWatcher | undefined {
    try {
      // One that is removed says so, and then nothing more.
      return watch(folder, note).on('error', note);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      const isGone = ['ENOENT', 'ENOTDIR', 'EACCES'].includes(error.code ?? '');
      if (!isGone && !isLimited) onLimit(error);
      isLimited ||= !isGone;
      return undefined;
    }
  }

  /** Waits for a change, or so long. */
  function waitOnce(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        tell = () => undefined;
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      signal.addEventListener('abort', done, { once: true });
      tell = done;
      if (signal.aborted) done();
    });
  }

  return {
    refresh: async () => {
      changedAt = undefined;
      const known = watched;
      watched = new Map();
      for await (const folder of listFolders(root, prunes)) {
        // Another directory may have its name by now: only a new watch is sure to be of what is there.
        known.get(folder)?.close();
        known.delete(folder);
        const watcher = watchFolder(folder);
        if (watcher) watched.set(folder, watcher);
      }
      for (const watcher of known.values()) watcher.close();
    },
    wait: async (milliseconds, signal) => {
      if (changedAt === undefined) await waitOnce(milliseconds, signal);
      if (changedAt === undefined) return;
      const end = performance.now() + longestUnrest;
      while (!signal.aborted) {
        const left = Math.min(changedAt + calm, end) - performance.now();
        if (left <= 0) return;
        await waitOnce(left, signal);
      }
    },
    close: () => {
      for (const watcher of watched.values()) watcher.close();
      watched = new Map();
    },
  };
}
