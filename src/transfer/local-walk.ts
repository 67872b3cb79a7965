import { createHash } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError, LocalError } from '../errors.ts';
import { compareNames } from './order.ts';
import { unfinishedName } from './partial-file.ts';

/** Something that a walk of a local tree comes by. */
export interface LocalVisit {
  readonly kind: 'file' | 'enter' | 'leave';
  /** Absolute path. */
  readonly file: string;
  /** Path below the root of the walk, with `/`. */
  readonly rel: string;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly mtime: number;
  /** Permission bits. */
  readonly mode: number;
}

export interface LocalWalkOptions {
  /** Called for what cannot be read, and for what is neither file nor directory; the walk goes on without it. */
  readonly onError: (error: unknown) => Promise<void> | void;
  /** What is left out, whatever it is: directories are visited and not entered. */
  readonly prune?: (rel: string) => boolean;
}

/** Files whose properties are asked for at once. */
const batchSize = 64;

/** Something that no object can stand for: a link to a directory, a socket, a name that is not UTF-8. It is there, and takes no part. */
export class NoPartError extends LocalError {}

async function inspectLink(file: string): Promise<Stats | Error> {
  try {
    const target = await stat(file);
    // A link to a directory may lead back up, and a tree would never end.
    return target.isDirectory()
      ? new NoPartError(`${file} is a link to a directory: left out`, { hint: 'name the directory itself' })
      : target;
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return new NoPartError(`${file} is a link to nothing: left out`, { cause: error });
    throw error;
  }
}

async function inspectLocal(file: string): Promise<Stats | Error> {
  try {
    const stats = await lstat(file);
    return stats.isSymbolicLink() ? await inspectLink(file) : stats;
  } catch (error) {
    if (isSystemError(error)) return error;
    throw error;
  }
}

/** Names of a directory in the order of listings. A name that is not UTF-8 is reported and left out: no path can be made of it. */
async function readNames(folder: string, onError: LocalWalkOptions['onError']): Promise<string[]> {
  const names = [];
  for (const raw of await readdir(folder, { encoding: 'buffer' })) {
    const name = raw.toString();
    if (unfinishedName.test(name)) continue;
    if (Buffer.from(name).equals(raw)) names.push(name);
    else await onError(new NoPartError(`${join(folder, name)}: the name is not UTF-8: left out`));
  }
  return names.sort(compareNames);
}

interface Level {
  folder: string;
  rel: string;
  own: LocalVisit | undefined;
  names: string[];
  at: number;
  batch: (Stats | Error)[];
}

/** Visits everything below a local directory, in the order of `comparePaths`. */
export async function* walkLocal(root: string, { onError, prune = () => false }: LocalWalkOptions): AsyncGenerator<LocalVisit> {
  async function openLevel(folder: string, rel: string, own: LocalVisit | undefined): Promise<Level | undefined> {
    try {
      return { folder, rel, own, names: await readNames(folder, onError), at: 0, batch: [] };
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
    const { folder } = level;
    if (level.batch.length === 0) {
      level.batch = await Promise.all(level.names.slice(level.at, level.at + batchSize).map((each) => inspectLocal(join(folder, each))));
    }
    level.at += 1;
    const stats = level.batch.shift();
    const file = join(folder, name);
    const rel = level.rel === '' ? name : `${level.rel}/${name}`;
    if (stats === undefined || stats instanceof Error) {
      if (!prune(rel)) await onError(stats);
      continue;
    }
    const visit = { file, rel, size: stats.size, mtime: stats.mtimeMs, mode: stats.mode & 0o7777 };
    if (stats.isFile()) yield { kind: 'file', ...visit };
    else if (stats.isDirectory()) {
      const entered: LocalVisit = { kind: 'enter', ...visit };
      yield entered;
      const below = prune(rel) ? undefined : await openLevel(file, rel, entered);
      if (below) levels.push(below);
      else yield { ...entered, kind: 'leave' };
    } else if (!prune(rel)) await onError(new NoPartError(`${file} is neither a file nor a directory: left out`));
  }
}

/** MD5 of a file, or of the bytes from `start` up to `end`, in Base64. */
export async function hashFile(file: string, start = 0, end = Infinity): Promise<string> {
  const hash = createHash('md5');
  if (end > start) {
    for await (const piece of createReadStream(file, { start, end: end - 1, highWaterMark: 1024 * 1024 })) hash.update(piece as Uint8Array);
  }
  return hash.digest('base64');
}
