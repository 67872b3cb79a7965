import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { createReadStream, lstatSync, statSync, type BigIntStats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { readClock } from '../../base/clock.ts';
import { checkInterrupted, isSystemError, LocalError } from '../../base/errors.ts';
import { readState, type FileState } from './file-state.ts';
import { createLinkReader, type LinkPolicy, type LinkReader, type LinkReason } from './links.ts';
import { compareNames } from '../../base/order.ts';
import { isManifest } from '../manifest-name.ts';
import { isOwnUnfinished } from './partial-file.ts';
import { unfinishedName } from './unfinished-name.ts';

/** An entry that a walk of a local tree visits. */
export interface LocalVisit extends FileState {
  readonly kind: 'file' | 'enter' | 'leave';
  /** Absolute path. */
  readonly file: string;
  /** Path below the root of the walk, with `/`. */
  readonly rel: string;
  /** Permission bits. */
  readonly mode: number;
}

export interface LocalWalkOptions {
  /** Called for entries that cannot be read, and for those that are neither file nor directory; the walk continues without them. */
  readonly onError: (error: unknown) => Promise<void> | void;
  /** True for entries that are left out; directories are visited and not entered. */
  readonly prune?: (rel: string) => boolean;
  /** Which symbolic links are followed; those to files inside the tree when absent. */
  readonly links?: LinkPolicy | undefined;
  /** Called for entries that are left out on purpose, which is not a failure. */
  readonly onSkip?: ((file: string, reason: SkipReason) => void) | undefined;
}

/** Why an entry of a tree is left out: why its link is not followed, or because it is an unfinished download of this program. */
export type SkipReason = LinkReason | 'unfinished';

/** Number of files per batch of stat calls. */
const batchSize = 64;

/** An entry that no object can represent, such as a socket or a name that is not UTF-8. It exists, and is not transferred. */
export class NoPartError extends LocalError {}

type Inspected = BigIntStats | Error | LinkReason;

async function inspectAside(file: string, links: LinkReader): Promise<Inspected> {
  try {
    const stats = await lstat(file, { bigint: true });
    return stats.isSymbolicLink() ? await links.read(file) : stats;
  } catch (error) {
    if (isSystemError(error)) return error;
    throw error;
  }
}

function inspectNow(file: string, links: LinkReader): Inspected | Promise<Inspected> {
  try {
    const stats = lstatSync(file, { bigint: true });
    return stats.isSymbolicLink() ? inspectAside(file, links) : stats;
  } catch (error) {
    if (isSystemError(error)) return error;
    throw error;
  }
}

/** Milliseconds that the synchronous stat calls of a batch may take; slower file systems are queried asynchronously. */
const quickBatchMs = 10;

/** Number of asynchronous batches on a slow file system before synchronous calls are tried again. */
const slowBatches = 16;

/** Returns the stats of files: synchronously where that is fast, which takes a third of the time of asynchronous calls. */
function createInspector(links: LinkReader): (files: readonly string[]) => Promise<Inspected[]> {
  let slow = 0;
  return async (files) => {
    if (slow > 0) {
      slow -= 1;
      return await Promise.all(files.map((file) => inspectAside(file, links)));
    }
    const started = readClock();
    const batch: Inspected[] = [];
    for (const file of files) {
      const found = inspectNow(file, links);
      batch.push(found instanceof Promise ? await found : found);
    }
    if (readClock() - started > quickBatchMs) slow = slowBatches;
    return batch;
  };
}

/** Names of a directory in the order of listings. A name that is not UTF-8 is reported and left out: it cannot be part of a path. */
async function readNames(folder: string, root: string, { onError, onSkip }: LocalWalkOptions): Promise<string[]> {
  const names = [];
  for (const raw of await readdir(folder, { encoding: 'buffer' })) {
    const name = raw.toString();
    if (unfinishedName.test(name)) {
      const file = join(folder, name);
      const isOwn = isOwnUnfinished(file);
      if (isOwn) onSkip?.(file, 'unfinished');
      // Another process may have finished or removed its file since the directory was read.
      if (isOwn || (isUtf8(raw) && lstatSync(file, { throwIfNoEntry: false }) === undefined)) continue;
    }
    if (folder === root && isManifest(name)) continue;
    if (isUtf8(raw)) names.push(name);
    else await onError(new NoPartError(`${join(folder, name)}: the name is not UTF-8: skipped`));
  }
  return names.sort(compareNames);
}

interface Level {
  folder: string;
  /** What precedes the name in the path of an entry. */
  prefix: string;
  rel: string;
  own: LocalVisit | undefined;
  names: string[];
  at: number;
  batch: Inspected[];
}

function isSameFolder({ dev, ino }: BigIntStats, visit: LocalVisit): boolean {
  return dev === visit.dev && ino === visit.ino;
}

/** Visits everything below a local directory, in the order of `comparePaths`. */
export async function* walkLocal(root: string, options: LocalWalkOptions): AsyncGenerator<LocalVisit> {
  const { onError, prune = () => false, onSkip } = options;
  const links = createLinkReader(root, options.links ?? 'inside');
  const inspect = createInspector(links);
  async function openLevel(folder: string, rel: string, own: LocalVisit | undefined): Promise<Level | undefined> {
    try {
      const names = await readNames(folder, root, options);
      // A link to another directory may have taken its place since it was visited.
      if (own && lstatSync(folder).isSymbolicLink() && !isSameFolder(statSync(folder, { bigint: true }), own)) {
        await onError(new LocalError(`${folder} has become a symbolic link: not followed`));
        return undefined;
      }
      return { folder, prefix: join(folder, sep), rel, own, names, at: 0, batch: [] };
    } catch (error) {
      if (!isSystemError(error)) throw error;
      await onError(error);
      return undefined;
    }
  }

  const first = await openLevel(root, '', undefined);
  const levels = first ? [first] : [];
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const name = level.names[level.at];
    if (name === undefined) {
      levels.pop();
      if (level.own) yield { ...level.own, kind: 'leave' };
      continue;
    }
    if (level.batch.length === 0) {
      level.batch = await inspect(level.names.slice(level.at, level.at + batchSize).map((each) => level.prefix + each));
    }
    level.at += 1;
    const stats = level.batch.shift();
    const file = level.prefix + name;
    const rel = level.rel === '' ? name : `${level.rel}/${name}`;
    if (typeof stats === 'string') {
      if (!prune(rel)) onSkip?.(file, stats);
      continue;
    }
    if (stats === undefined || stats instanceof Error) {
      if (!prune(rel)) await onError(stats);
      continue;
    }
    const visit = { file, rel, ...readState(stats), mode: Number(stats.mode) & 0o7777 };
    if (stats.isFile()) yield { kind: 'file', ...visit };
    else if (stats.isDirectory()) {
      const entered: LocalVisit = { kind: 'enter', ...visit };
      if (
        links.isLoop(
          file,
          levels.map((each) => each.folder),
        )
      ) {
        onSkip?.(file, 'loop');
        continue;
      }
      yield entered;
      const below = prune(rel) ? undefined : await openLevel(file, rel, entered);
      if (below) levels.push(below);
      else yield { ...entered, kind: 'leave' };
    } else if (!prune(rel)) await onError(new NoPartError(`${file} is neither a file nor a directory: skipped`));
  }
}

/** MD5 of a file, or of its bytes from `start` up to `end`, in Base64. @throws {InterruptedError} when the signal ends the reading */
export async function hashFile(file: string, signal: AbortSignal | undefined, start = 0, end = Infinity): Promise<string> {
  const hash = createHash('md5');
  try {
    const chunks = end > start ? createReadStream(file, { start, end: end - 1, highWaterMark: 1024 * 1024, signal }) : [];
    for await (const chunk of chunks) hash.update(chunk as Uint8Array);
  } catch (error) {
    checkInterrupted(signal, error);
    throw error;
  }
  return hash.digest('base64');
}
