import type { Entry } from '../../api/objects.ts';
import type { Engine } from '../engine.ts';
import { createMatcher } from '../wildcard.ts';
import { walkLocal } from '../local-walk.ts';
import type { RemotePath } from '../path.ts';
import { walkRemote } from '../walk.ts';

/** A file, object or directory of one side. */
export interface Item {
  /** Path below the root. */
  readonly rel: string;
  readonly kind: 'file' | 'directory';
  /** Bytes. */
  readonly size: number;
  /** Modification time of a local file, in whole milliseconds since the epoch. */
  readonly mtime: number | undefined;
  /** Permission bits of a local file. */
  readonly mode: number | undefined;
  /** Of an object. */
  readonly etag: string | undefined;
  /** Base64, when the listing of an object has it. */
  readonly md5: string | undefined;
}

/** One side: a directory of the object storage, or a local one. */
export type Side = { readonly kind: 'remote'; readonly root: RemotePath } | { readonly kind: 'local'; readonly root: string };

/** Which paths take part. */
export interface Filter {
  /** Whether a file takes part. */
  readonly hasFile: (rel: string) => boolean;
  /** Whether a directory is not looked into. */
  readonly prunes: (rel: string) => boolean;
  /** True when files are chosen one by one, so that directories without any are left out. */
  readonly isChoosy: boolean;
}

/** A pattern without a slash is for names anywhere, one with a slash for paths below the root. */
function createPathMatcher(pattern: string): (rel: string) => boolean {
  const matches = createMatcher(pattern.replace(/^\//, '').replace(/\/$/, ''));
  return pattern.includes('/') ? matches : (rel) => matches(rel.slice(rel.lastIndexOf('/') + 1));
}

/** Leaves out what matches an excluding pattern; with including ones, also every file that matches none of them. */
export function createFilter(include: readonly string[], exclude: readonly string[]): Filter {
  const wanted = include.map(createPathMatcher);
  const unwanted = exclude.map(createPathMatcher);
  const prunes = (rel: string): boolean => unwanted.some((matches) => matches(rel));
  const hasFile = (rel: string): boolean => !prunes(rel) && (wanted.length === 0 || wanted.some((matches) => matches(rel)));
  return { hasFile, prunes, isChoosy: wanted.length > 0 };
}

function describeEntry(rel: string, { type, size = 0, etag, contentMD5 }: Entry): Item {
  const kind = type === 'directory' ? 'directory' : 'file';
  return { rel, kind, size, mtime: undefined, mode: undefined, etag, md5: contentMD5 };
}

/** The items of a side in the order of `comparePaths`. */
export async function* listItems(
  { storage }: Pick<Engine, 'storage'>,
  side: Side,
  filter: Filter,
  onError: (error: unknown) => Promise<void> | void,
): AsyncGenerator<Item> {
  if (side.kind === 'remote') {
    for await (const { kind, entry, rel } of walkRemote(storage, side.root, { prune: filter.prunes, onError })) {
      if (kind === 'enter' ? !filter.prunes(rel) : kind === 'object' && filter.hasFile(rel)) yield describeEntry(rel, entry);
    }
    return;
  }
  for await (const { kind, rel, size, mtime, mode } of walkLocal(side.root, { prune: filter.prunes, onError })) {
    const local = { rel, etag: undefined, md5: undefined, mode, mtime: Math.floor(mtime) };
    if (kind === 'enter' && !filter.prunes(rel)) yield { ...local, kind: 'directory', size: 0 };
    else if (kind === 'file' && filter.hasFile(rel)) yield { ...local, kind, size };
  }
}
