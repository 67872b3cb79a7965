import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreNoEntry, isSystemError } from '../../base/errors.ts';
import { collectorName, type ByteStore } from './bytes.ts';
import { listAbandoned, openFileBytes } from './file-bytes.ts';
import { readInline } from './inline-bytes.ts';
import { isRow } from './row-bytes.ts';
import { StoreUnavailable } from './unavailable.ts';

/** Error codes of a network file system that cannot be reached. */
const awayCodes: ReadonlySet<string> = new Set(['EIO', 'ESTALE', 'ENOTCONN', 'ENODEV', 'EHOSTDOWN', 'EHOSTUNREACH', 'ETIMEDOUT']);

/**
 * Contents in files of a directory that several processes share, usually on another machine. While the directory is unreachable, everything
 * but `measureFree` throws `StoreUnavailable`: it may be back a moment later.
 */
export async function openSharedBytes(dir: string): Promise<ByteStore> {
  const files = await openFileBytes(dir, { isShared: true });
  const root = join(dir, 'bytes');
  const collectorFile = join(dir, collectorName);

  async function isGone(): Promise<boolean> {
    return stat(root).then(
      () => false,
      () => true,
    );
  }

  /** Converts an error that concerns the directory rather than one content. */
  async function explain(error: unknown): Promise<unknown> {
    if (!isSystemError(error)) return error;
    const isAway = awayCodes.has(error.code ?? '') || (error.code === 'ENOENT' && (await isGone()));
    return isAway ? new StoreUnavailable(`the directory of the contents is away: ${error.message}`, { cause: error }) : error;
  }

  async function attempt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw await explain(error);
    }
  }

  return {
    measureFree: () => files.measureFree().catch(() => Infinity),
    write: (body) => attempt(() => files.write(body)),
    writeCompressed: (body) => attempt(() => files.writeCompressed(body)),
    keep: (bytes) => attempt(() => files.keep(bytes)),
    read: (id, start, end) => attempt(() => files.read(id, start, end)),
    place: (id, file) => files.place(id, file),
    remove: (id) =>
      attempt(async () => {
        if (readInline(id) !== undefined || isRow(id)) return;
        await files.remove(id);
        // A missing file counts as removed, but not if the whole directory is missing.
        await stat(root);
      }),
    collector: {
      read: () => attempt(async () => (await readFile(collectorFile, 'utf8').catch(ignoreNoEntry)) ?? (await stat(root), undefined)),
      write: (text) =>
        attempt(async () => {
          await stat(root);
          // Synchronous calls would block every request while the directory is away.
          const unfinished = `${collectorFile}.${randomUUID()}`;
          try {
            await writeFile(unfinished, text, { mode: 0o600, flag: 'wx', flush: true });
            await rename(unfinished, collectorFile);
          } catch (error) {
            await rm(unfinished, { force: true }).catch(() => undefined);
            throw error;
          }
        }),
    },
    async *listUnfinished(before) {
      try {
        yield* listAbandoned(dir, before);
      } catch (error) {
        throw await explain(error);
      }
    },
    async *list(before) {
      try {
        yield* files.list(before);
      } catch (error) {
        throw await explain(error);
      }
    },
  };
}
