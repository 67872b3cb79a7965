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
  /** Base64, when the listing of an object has it. */
  readonly md5: string | undefined;
  /** Where an item of a snapshot is; below the root of its side when absent. */
  readonly path?: RemotePath;
  /** When it was last changed, as the listing says; of an item of a snapshot, only where that tells whether its headers are the same. */
  readonly changed?: string | undefined;
}

/** Another service than the one that is changed. */
export interface Origin {
  /** Its URL. */
  readonly service: string;
  readonly storage: StorageClient;
}

/** One side: a directory of the object storage, or a local one. Only what is brought can be of another service. */
export type Side =
  | {
      readonly kind: 'remote';
      readonly root: RemotePath;
      /** The profile that it was named by. */
      readonly profile?: string | undefined;
      readonly origin?: Origin | undefined;
      /** What the side has, in the order of `comparePaths`, where that is not what stands below the root: a snapshot. */
      readonly items?: (() => AsyncIterable<Item>) | undefined;
    }
  | { readonly kind: 'local'; readonly root: string };

/** Which paths take part. */
export interface Filter {
  /** Whether a file takes part. */
  readonly hasFile: (rel: string) => boolean;
  /** Whether a directory is not looked into. */
  readonly prunes: (rel: string) => boolean;
  /** True when files are chosen one by one, so that directories without any are left out. */
  readonly isChoosy: boolean;
}

/** No path is left out. */
export const everything: Filter = { hasFile: () => true, prunes: () => false, isChoosy: false };

/** A pattern without a slash, but for one at its end, is for names anywhere, another one, also with `./` before it, for paths below the root. */
function createPathMatcher(pattern: string): (rel: string) => boolean {
  const path = pattern.replace(/\/+$/, '').replace(/^(\.\/+)+/, '/');
  const matches = createMatcher(path.replace(/^\//, ''));
  return path.includes('/') ? matches : (rel) => matches(rel.slice(rel.lastIndexOf('/') + 1));
}

/** Leaves out what matches an excluding pattern; with including ones, also every file that matches none of them. */
export function createFilter(include: readonly string[], exclude: readonly string[]): Filter {
  const wanted = include.map(createPathMatcher);
  const unwanted = exclude.map(createPathMatcher);
  // With a slash at its end a pattern is for directories alone.
  const unwantedFiles = exclude.filter((pattern) => !pattern.endsWith('/')).map(createPathMatcher);
  const prunes = (rel: string): boolean => unwanted.some((matches) => matches(rel));
  const hasFile = (rel: string): boolean =>
    !unwantedFiles.some((matches) => matches(rel)) && (wanted.length === 0 || wanted.some((matches) => matches(rel)));
  return { hasFile, prunes, isChoosy: wanted.length > 0 };
}

/** Tells of each visit of a walk, in its order, whether it takes part; a directory that is left does when everything in it did. */
export type Chooser = (visit: Pick<Visit, 'kind' | 'rel'>) => boolean;

/** Where files are chosen one by one, a directory takes part only with some of them in it. The root is left as `''`, at the end. */
export function createChooser({ hasFile, prunes, isChoosy }: Filter): Chooser {
  // A walk leaves a directory directly after what is in it: of each kind, the latest one tells.
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

/** What works at a side: the engine over the client of its service. */
export function engineAt(engine: Engine, side: Side): Engine {
  if (side.kind !== 'remote' || side.origin === undefined) return engine;
  const { storage, service } = side.origin;
  return { ...engine, storage, service };
}

/** A listed entry as an item of its side. */
export function describeEntry(rel: string, { type, size = 0, etag, contentMD5, mtime }: Entry): Item {
  const kind = type === 'directory' ? 'directory' : 'file';
  return { rel, kind, size, state: undefined, mode: undefined, etag, md5: contentMD5, changed: mtime };
}

/** How a side is listed. */
export interface Listing {
  readonly filter: Filter;
  readonly onError: (error: unknown) => Promise<void> | void;
  /** A directory of the object storage whose entries have all come. */
  readonly onLeave?: (rel: string) => void;
  /** What the filter leaves out. */
  readonly onFiltered?: (rel: string) => void;
  readonly links?: LinkPolicy | undefined;
  readonly onSkip?: LocalWalkOptions['onSkip'];
}

/** Items that take part, of those that stand in a manifest. */
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

/** The items of a side in the order of `comparePaths`. */
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
  for await (const { kind, rel, mode, file: _, ...state } of walkLocal(side.root, { prune: filter.prunes, onError, links, onSkip })) {
    if (kind === 'leave') continue;
    const local = { rel, etag: undefined, md5: undefined, mode, state };
    if (kind === 'enter' ? filter.prunes(rel) : !filter.hasFile(rel)) onFiltered?.(rel);
    else if (kind === 'enter') yield { ...local, kind: 'directory', size: 0 };
    else yield { ...local, kind, size: state.size };
  }
}
