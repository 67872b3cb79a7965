import { closeSync, fsync, openSync } from 'node:fs';
import { promisify } from 'node:util';

const flush = promisify(fsync);

/** Only the flush runs on another thread: waking a thread costs more than opening a directory. */
async function syncNow(directory: string): Promise<void> {
  const descriptor = openSync(directory, 'r');
  try {
    await flush(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Creates a function that flushes a directory to disk. Callers waiting for the same directory share a flush, but only one that began after
 * their call: an earlier one may have missed their file.
 */
export function createDirectorySync(): (directory: string) => Promise<void> {
  const running = new Map<string, Promise<void>>();
  const waiting = new Map<string, Promise<void>>();

  async function begin(directory: string): Promise<void> {
    waiting.delete(directory);
    const flush = syncNow(directory);
    running.set(directory, flush);
    try {
      await flush;
    } finally {
      if (running.get(directory) === flush) running.delete(directory);
    }
  }

  return (directory) => {
    const shared = waiting.get(directory);
    if (shared !== undefined) return shared;
    const current = running.get(directory);
    if (current === undefined) return begin(directory);
    const next = current.then(
      () => begin(directory),
      () => begin(directory),
    );
    waiting.set(directory, next);
    return next;
  };
}
