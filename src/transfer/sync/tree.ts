import type { Entry } from '../../api/objects.ts';
import type { StorageClient } from '../../client/client.ts';
import type { Engine } from '../engine.ts';
import type { FileState } from '../local/file-state.ts';
import { createMatcher } from '../tree/wildcard.ts';
import type { LinkPolicy } from '../local/links.ts';
import { walkLocal, type LocalWalkOptions } from '../local/walk.ts';
import type { RemotePath } from '../path.ts';
import { isSnapshotFolder } from '../snapshot/place.ts';
import { walkRemote, type Visit } from '../tree/walk.ts';

/** A file, object or directory of one side. */
export interface Item {
  /** Path below the root. */
  readonly rel: string;
  readonly kind: 'file' | 'directory';
  /** Bytes. */
  readonly size: number;
  /** Of a local file. */
  readonly state: FileState | undefined;
  /** Permission bits of a local file. */
  readonly mode: number | undefined;
  /** Of an object. */
  readonly etag: string | undefined;
  /** Base64, if the listing has it. */
  readonly md5: string | undefined;
  /** The path of an item of a snapshot; below the root of its side when absent. */
  readonly path?: RemotePath;
  /** Time of the last change, from the listing; in a snapshot, only where it can show that the headers are unchanged. */
  readonly changed?: string | undefined;
}

/** A service other than the one that is changed. */
export interface Origin {
  /** Its URL. */
  readonly service: string;
  readonly storage: StorageClient;
}

/** One side: a remote or a local directory. Only the source can be of another service. */
export type Side =
  | {
      readonly kind: 'remote';
      readonly root: RemotePath;
      /** The profile that was given with the path. */
      readonly profile?: string | undefined;
      readonly origin?: Origin | undefined;
      /** The items of a side that is a snapshot, in the order of `comparePaths`; absent for the entries below the root. */
      readonly items?: (() => AsyncIterable<Item>) | undefined;
    }
  | { readonly kind: 'local'; readonly root: string };

/** Selects paths. */
export interface Filter {
  /** True if a file is selected. */
  readonly hasFile: (rel: string) => boolean;
  /** True if a directory is not entered. */
  readonly prunes: (rel: string) => boolean;
  /** True when files are selected one by one, so that directories without any are left out. */
  readonly isChoosy: boolean;
}

/** Selects every path. */
export const everything: Filter = { hasFile: () => true, prunes: () => false, isChoosy: false };

/**
 * A pattern without a slash (a trailing one aside) matches names anywhere; any other, also one with a leading `./`, matches paths below the
 * root.
 */
function createPathMatcher(pattern: string): (rel: string) => boolean {
  const path = pattern.replace(/\/+$/, '').replace(/^(\.\/+)+/, '/');
  const matches = createMatcher(path.replace(/^\//, ''));
  return path.includes('/') ? matches : (rel) => matches(rel.slice(rel.lastIndexOf('/') + 1));
}

/** Leaves out paths that match an excluding pattern; with including patterns, also every file that matches none of them. */
export function createFilter(include: readonly string[], exclude: readonly string[]): Filter {
  const wanted = include.map(createPathMatcher);
  const unwanted = exclude.map(createPathMatcher);
  // A pattern with a trailing slash matches only directories.
  const unwantedFiles = exclude.filter((pattern) => !pattern.endsWith('/')).map(createPathMatcher);
  const prunes = (rel: string): boolean => unwanted.some((matches) => matches(rel));
  const hasFile = (rel: string): boolean =>
    !unwantedFiles.some((matches) => matches(rel)) && (wanted.length === 0 || wanted.some((matches) => matches(rel)));
  return { hasFile, prunes, isChoosy: wanted.length > 0 };
}

/**
 * Called for each visit of a walk, in order; returns true if it is selected. A directory that is left is selected if everything in it was.
 */
export type Chooser = (visit: Pick<Visit, 'kind' | 'rel'>) => boolean;

/** Where files are selected one by one, a directory is selected only with some of them in it. The root is left as `''`, at the end. */
export function createChooser({ hasFile, prunes, isChoosy }: Filter): Chooser {
  // A walk leaves a directory directly after its entries, so that the latest entry of each kind is enough.
  let [kept, taken]: (string | undefined)[] = [];
  const isIn = (latest: string | undefined, rel: string): boolean => latest !== undefined && (rel === '' || latest.startsWith(`${rel}/`));
  return ({ kind, rel }) => {
    if (kind === 'enter') {
      if (prunes(rel)) kept = rel;
      return !prunes(rel);
    }
    const takesPart =
      kind === 'object' ? hasFile(rel) : (rel === '' || !prunes(rel)) && !isIn(kept, rel) && (!isChoosy || isIn(taken, rel));
    if (takesPart) taken = rel;
    else kept = rel;
    return takesPart;
  };
}

/** The engine of a side: the same engine with the client of the side's service. */
export function engineAt(engine: Engine, side: Side): Engine {
  if (side.kind !== 'remote' || side.origin === undefined) return engine;
  const { storage, service } = side.origin;
  return { ...engine, storage, service };
}

export function describeEntry(rel: string, { type, size = 0, etag, contentMD5, mtime }: Entry): Item {
  const kind = type === 'directory' ? 'directory' : 'file';
  return { rel, kind, size, state: undefined, mode: undefined, etag, md5: contentMD5, changed: mtime };
}

/** How a side is listed. */
export interface Listing {
  readonly filter: Filter;
  /** Called for each directory that cannot be listed, with its path if it is remote; other errors name their path. */
  readonly onError: (error: unknown, directory?: RemotePath) => Promise<void> | void;
  /** Called for a remote directory after its last entry. */
  readonly onLeave?: (rel: string) => void;
  /** Called for each path that the filter leaves out. */
  readonly onFiltered?: (rel: string) => void;
  readonly links?: LinkPolicy | undefined;
  readonly onSkip?: LocalWalkOptions['onSkip'];
}

/** The selected items of a snapshot. */
async function* filterItems(items: AsyncIterable<Item>, { filter, onFiltered }: Listing): AsyncGenerator<Item> {
  let pruned: string | undefined;
  for await (const item of items) {
    const { rel, kind } = item;
    if (pruned !== undefined && rel.startsWith(`${pruned}/`)) continue;
    pruned = kind === 'directory' && filter.prunes(rel) ? rel : undefined;
    if (pruned === undefined && (kind === 'directory' || filter.hasFile(rel))) yield item;
    else onFiltered?.(rel);
  }
}

export async function* listItems({ storage }: Pick<Engine, 'storage'>, side: Side, listing: Listing): AsyncGenerator<Item> {
  const { filter, onError, onLeave, onFiltered, links, onSkip } = listing;
  if (side.kind === 'remote' && side.items) {
    yield* filterItems(side.items(), listing);
    return;
  }
  if (side.kind === 'remote') {
    const prune = (rel: string): boolean => filter.prunes(rel) || isSnapshotFolder(side.root, rel);
    for await (const { kind, entry, rel } of walkRemote(side.origin?.storage ?? storage, side.root, { prune, onError })) {
      if (kind === 'leave') onLeave?.(rel);
      else if (kind === 'enter' ? !prune(rel) : filter.hasFile(rel)) yield describeEntry(rel, entry);
      else onFiltered?.(rel);
    }
    return;
  }
  for await (const visit of walkLocal(side.root, { prune: filter.prunes, onError, links, onSkip })) {
    const { kind, rel, mode, dev, ino, size, mtime, ctime } = visit;
    if (kind === 'leave') continue;
    if (kind === 'enter' ? filter.prunes(rel) : !filter.hasFile(rel)) onFiltered?.(rel);
    else {
      const state = { dev, ino, size, mtime, ctime };
      const [itemKind, bytes] = kind === 'enter' ? (['directory', 0] as const) : ([kind, size] as const);
      yield { rel, kind: itemKind, size: bytes, state, mode, etag: undefined, md5: undefined };
    }
  }
}
