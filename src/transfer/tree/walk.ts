import type { Entry } from '../../api/objects.ts';
import type { StorageClient } from '../../client/client.ts';
import { NetworkError } from '../../base/errors.ts';
import { listPages, startListing } from './list.ts';
import { joinPath, printRemotePath, type RemotePath } from '../path.ts';

/** An entry that a walk visits. A directory is entered before its entries and left after them. */
export interface Visit {
  readonly kind: 'object' | 'enter' | 'leave';
  readonly entry: Entry;
  readonly path: RemotePath;
  /** Path below the root of the walk. */
  readonly rel: string;
  /** 1 for the entries of the root. */
  readonly depth: number;
  /** True for the last entry of its directory. */
  readonly isLast: boolean;
}

export interface WalkOptions {
  /** Number of directories per level whose first page is requested in advance. */
  readonly ahead?: number;
  /** Entries below this depth are not visited. */
  readonly maxDepth?: number;
  /** Called for a directory that cannot be listed; the walk continues without it. Absent: the walk ends with the error. */
  readonly onError?: (error: unknown, directory: RemotePath) => Promise<void> | void;
  /** True for directories that are not entered. */
  readonly prune?: (rel: string) => boolean;
}

/** Maximum depth of a tree: an endless tree would never be finished. */
const deepest = 1000;

/** First pages requested in advance for each level of the tree; at most half a megabyte. */
const usualAhead = 6;

/** @throws {NetworkError} for a name that a listing must not have, because it would lead elsewhere */
function checkName(name: string, directory: RemotePath): void {
  if (name !== '.' && name !== '..' && !/[/\0]/.test(name)) return;
  throw new NetworkError(`the listing of ${printRemotePath(directory)} has an entry named ${JSON.stringify(name)}: not followed`, {
    code: 'UnreadableReply',
  });
}

/** @throws {NetworkError} for a directory that is so deep that its tree may be endless */
export function assertDepth(path: RemotePath, depth: number): void {
  if (depth < deepest) return;
  const shown = printRemotePath(path);
  throw new NetworkError(`the tree is more than ${deepest} directories deep: ${shown.slice(0, 100)}...`, { code: 'UnreadableReply' });
}

/** A directory to be walked; the root has no entry. */
interface Opening extends Pick<Visit, 'path' | 'rel' | 'isLast'> {
  readonly entry: Entry | undefined;
}

/** A directory that is being walked. */
interface Level extends Opening {
  pages: AsyncGenerator<Entry[]>;
  page: Entry[];
  /** The next page, if it was read to see whether there is one. */
  ahead: Entry[] | undefined;
  at: number;
  /** Position up to which the page was searched for directories to request in advance. */
  scanned: number;
  /** First pages requested in advance, by the names of their directories. */
  begun: Map<string, ReturnType<typeof startListing>>;
}

/**
 * Visits everything below a directory in the order of `comparePaths`. The next directories are listed in advance and concurrently; memory
 * is bounded.
 */
export async function* walkRemote(storage: StorageClient, root: RemotePath, options: WalkOptions = {}): AsyncGenerator<Visit> {
  const { ahead = usualAhead, maxDepth = Infinity, onError, prune = () => false } = options;

  function openLevel({ path, rel, entry, isLast }: Opening, above?: Level): Level {
    const first = above?.begun.get(entry?.name ?? '');
    above?.begun.delete(entry?.name ?? '');
    const pages = listPages(storage, path, first);
    return { path, rel, entry, isLast, pages, page: [], ahead: undefined, at: 0, scanned: 0, begun: new Map() };
  }

  function relOf(level: Level, name: string): string {
    return level.rel === '' ? name : `${level.rel}/${name}`;
  }

  function askAhead(level: Level, depth: number): void {
    if (depth >= maxDepth) return;
    level.scanned = Math.max(level.scanned, level.at);
    while (level.begun.size < ahead && level.scanned < level.page.length) {
      const entry = level.page[level.scanned];
      level.scanned += 1;
      if (entry?.type !== 'directory' || prune(relOf(level, entry.name))) continue;
      level.begun.set(entry.name, startListing(storage, joinPath(level.path, entry.name)));
    }
  }

  async function readAhead(level: Level): Promise<Entry[] | undefined> {
    if (level.ahead !== undefined) return level.ahead;
    try {
      const next = await level.pages.next();
      if (next.done === true) return undefined;
      for (const { name } of next.value) checkName(name, level.path);
      level.ahead = next.value;
      return level.ahead;
    } catch (error) {
      if (onError === undefined) throw error;
      await onError(error, level.path);
      return undefined;
    }
  }

  async function readOn(level: Level): Promise<boolean> {
    const page = await readAhead(level);
    if (page !== undefined) Object.assign(level, { page, ahead: undefined, at: 0, scanned: 0 });
    return page !== undefined;
  }

  const levels = [openLevel({ path: root, rel: '', entry: undefined, isLast: true })];
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const depth = levels.length;
    if (level.at >= level.page.length && !(await readOn(level))) {
      levels.pop();
      const { entry, path, rel, isLast } = level;
      if (entry) yield { kind: 'leave', entry, path, rel, depth: depth - 1, isLast };
      continue;
    }
    askAhead(level, depth);
    const entry = level.page[level.at];
    level.at += 1;
    if (!entry) continue;
    const isLast = level.at === level.page.length && (await readAhead(level)) === undefined;
    const visit = { entry, path: joinPath(level.path, entry.name), rel: relOf(level, entry.name), depth, isLast };
    yield { kind: entry.type === 'object' ? 'object' : 'enter', ...visit };
    if (entry.type === 'object') continue;
    if (depth < maxDepth) assertDepth(visit.path, depth);
    if (depth < maxDepth && !prune(visit.rel)) levels.push(openLevel(visit, level));
    else yield { kind: 'leave', ...visit };
  }
}
