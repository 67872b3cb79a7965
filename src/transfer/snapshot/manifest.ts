import type { Headers } from '../../api/message.ts';
import { LocalError, quietly } from '../../base/errors.ts';
import { isRecord } from '../../base/is-record.ts';
import { readLines } from '../../client/response.ts';
import { openObject, readObject } from '../download/download.ts';
import type { Engine } from '../engine.ts';
import { hashingHere } from '../hashing.ts';
import { joinPath, printRemotePath, type RemotePath } from '../path.ts';
import type { Item } from '../sync/tree.ts';
import { readStoredHeaders } from '../tree/headers.ts';
import type { SnapshotHome } from './place.ts';

/**
 * The manifest of a snapshot: lines of JSON. The first describes the snapshot, the last has the totals, the others are the entries of the
 * directory in the order of `comparePaths`. The manifest is stored last: a snapshot without one is unfinished.
 */

/** The first line. */
export interface ManifestHead {
  readonly snapshot: 1;
  readonly directory: string;
  readonly name: string;
  /** Id of the tree with the links that were created for this snapshot. */
  readonly tree: string;
  /** Start of its creation by the service's clock, ISO 8601. */
  readonly created: string;
  /** The previous snapshot whose links are reused. */
  readonly base?: string | undefined;
}

/** An object or directory of a snapshot. */
export interface ManifestEntry {
  readonly rel: string;
  readonly type: 'object' | 'directory';
  readonly etag?: string | undefined;
  readonly size?: number | undefined;
  /** Base64. */
  readonly md5?: string | undefined;
  /** Time of the last change, present only if no later change can have the same time. */
  readonly mtime?: string | undefined;
  /** Etag of the object, if its bytes had to be copied. */
  readonly copyOf?: string | undefined;
  /** Id of the tree that has the link, if that belongs to an earlier snapshot. */
  readonly tree?: string | undefined;
  /** Headers of a directory. Those of an object are in its link. */
  readonly headers?: Headers | undefined;
  /** Role tags of a directory, separated by commas; absent in snapshots of earlier releases. Those of an object are in its link. */
  readonly roleTag?: string | undefined;
}

/** The last line. */
export interface ManifestEnd {
  readonly end: true;
  readonly objects: number;
  readonly directories: number;
  readonly bytes: number;
}

export interface SnapshotItem extends Item {
  readonly entry: ManifestEntry;
}

function createDamagedError(path: RemotePath, problem: string): LocalError {
  return new LocalError(`${printRemotePath(path)} is not a valid manifest of a snapshot: ${problem}`, {
    hint: 'use another snapshot: cloud stor snapshot list',
  });
}

function readRecord(text: string): Record<string, unknown> | undefined {
  const value = quietly<unknown>(() => JSON.parse(text), undefined);
  return isRecord(value) ? value : undefined;
}

/** True if a relative path stays inside its directory. */
function isInside(rel: unknown): rel is string {
  return typeof rel === 'string' && rel.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'));
}

function isText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function isTree(tree: unknown): tree is string | undefined {
  return isText(tree) && (tree === undefined || /^[\da-f-]{36}$/.test(tree));
}

function isSize(size: unknown): size is number | undefined {
  return size === undefined || (typeof size === 'number' && Number.isSafeInteger(size) && size >= 0);
}

/** Validates an entry: anybody may have changed the manifest. */
function readEntry(record: Record<string, unknown>): ManifestEntry | undefined {
  const { rel, type, etag, size, md5, mtime, copyOf, tree, headers, roleTag } = record;
  if (!isInside(rel) || !isTree(tree) || !isSize(size)) return undefined;
  if (!isText(etag) || !isText(md5) || !isText(mtime) || !isText(copyOf) || !isText(roleTag)) return undefined;
  const stored = readStoredHeaders(headers);
  if (headers !== undefined && stored === undefined) return undefined;
  if (type !== 'directory' && (type !== 'object' || etag === undefined)) return undefined;
  return { rel, type, etag, size, md5, mtime, copyOf, tree, headers: stored, roleTag };
}

/**
 * Streams the entries of a snapshot from the service.
 * @throws {LocalError} when a line is damaged, and at the end when entries are missing
 */
export async function* readManifest(engine: Engine, path: RemotePath, etag?: string): AsyncGenerator<ManifestHead | ManifestEntry> {
  // A hashing thread would take memory, and time of the walk that waits for the manifest.
  const opened = await openObject(engine, path, etag);
  const lines = readLines(readObject({ ...engine, hashing: hashingHere }, opened));
  let isBegun = false;
  let number = 0;
  let count = 0;
  let end: ManifestEnd | undefined;
  for await (const line of lines) {
    number += 1;
    const record = readRecord(line);
    if (record === undefined || end !== undefined) throw createDamagedError(path, `line ${number} is damaged`);
    if (!isBegun) {
      if (record['snapshot'] !== 1 || !isTree(record['tree'])) throw createDamagedError(path, 'its first line is not that of a manifest');
      isBegun = true;
      yield record as unknown as ManifestHead;
    } else if (record['end'] === true) end = record as unknown as ManifestEnd;
    else {
      const entry = readEntry(record);
      if (entry === undefined) throw createDamagedError(path, `line ${number} is not an entry`);
      count += 1;
      yield entry;
    }
  }
  if (end === undefined || end.objects + end.directories !== count) throw createDamagedError(path, 'entries are missing');
}

/** The items of a snapshot, each with the path of its link. */
export async function* readItems(engine: Engine, home: SnapshotHome, name: string, etag?: string): AsyncGenerator<SnapshotItem> {
  let own = '';
  for await (const line of readManifest(engine, joinPath(home.manifests, name), etag)) {
    if ('snapshot' in line) own = line.tree;
    else {
      const entry = { ...line, tree: line.tree ?? own };
      yield {
        rel: entry.rel,
        kind: entry.type === 'object' ? 'file' : 'directory',
        size: entry.size ?? 0,
        state: undefined,
        mode: undefined,
        etag: entry.etag,
        md5: entry.md5,
        changed: entry.mtime,
        path: joinPath(home.trees, `${entry.tree}/${entry.rel}`),
        entry,
      };
    }
  }
}
