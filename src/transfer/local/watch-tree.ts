import { watch, type FSWatcher } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { longestTimer, readClock } from '../../base/clock.ts';
import { isSystemError } from '../../base/errors.ts';

/**
 * Reports that a local tree has changed. This is only a hint: one for many changes, and none once the system allows no further watches.
 * Linux needs one watch per directory; a library would only add the state of each file, which the next run reads anyway.
 */
export interface TreeWatch {
  /** Watches new directories and stops watching those that are gone. Earlier changes are forgotten. */
  refresh(): Promise<void>;
  /** Resolves when something has changed since `refresh` and changes have paused; or after this time; or with the signal. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Milliseconds without a further change after which `wait` resolves, and the maximum that it waits for such a pause. */
const calm = 200;
const longestUnrest = 3000;

/** The root and all directories below it, except those that are left out and those below a directory that cannot be read. */
async function* listFolders(root: string, prunes: (rel: string) => boolean, rel = ''): AsyncGenerator<string> {
  const folder = join(root, rel);
  yield folder;
  try {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const below = rel === '' ? entry.name : `${rel}/${entry.name}`;
      if (entry.isDirectory() && !prunes(below)) yield* listFolders(root, prunes, below);
    }
  } catch (error) {
    // The run itself reports directories that it cannot read.
    if (!isSystemError(error)) throw error;
  }
}

/**
 * @param prunes true for directories that are left out, by their path below the root
 * @param onLimit called once, when the system allows no further watches
 */
export function watchTree(root: string, prunes: (rel: string) => boolean, onLimit: (error: Error) => void): TreeWatch {
  let watched = new Map<string, FSWatcher>();
  let changedAt: number | undefined;
  let isLimited = false;
  let tell = (): void => undefined;
  const note = (): void => {
    changedAt = readClock();
    tell();
  };

  function watchFolder(folder: string): FSWatcher | undefined {
    try {
      // A removed directory reports its removal and nothing more.
      return watch(folder, note).on('error', note);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      const isGone = ['ENOENT', 'ENOTDIR', 'EACCES'].includes(error.code ?? '');
      if (!isGone && !isLimited) onLimit(error);
      isLimited ||= !isGone;
      return undefined;
    }
  }

  /** Waits for a change, at most this long. */
  function waitOnce(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        tell = () => undefined;
        resolve();
      };
      const timer = setTimeout(done, Math.min(milliseconds, longestTimer));
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
        // Another directory may have this name by now: only a new watch is sure to watch the current one.
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
      const end = readClock() + longestUnrest;
      while (!signal.aborted) {
        const left = Math.min(changedAt + calm, end) - readClock();
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
