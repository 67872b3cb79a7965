import { closeSync, constants, createReadStream, lstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { Headers } from '../api/message.ts';
import { batchText } from '../base/batches.ts';
import { ApiError, quietly, UsageError } from '../base/errors.ts';
import type { Engine } from './engine.ts';
import { decodeStored, encodeHeaders, readStoredHeaders } from './tree/headers.ts';
import { inspect } from './inspect.ts';
import { linkObject } from './tree/link.ts';
import { createLinkTable, type LinkTable, type Placed } from './tree/link-table.ts';
import { hashFile } from './local/walk.ts';
import { manifestName } from './manifest-name.ts';
import { printRemotePath, type RemotePath } from './path.ts';
import { isConditionFailed } from './precondition.ts';
import type { FileSource } from './local/source.ts';
import type { PutOptions, Stored } from './upload/parts.ts';
import { uploadObject } from './upload/upload.ts';

/**
 * The manifest at the root of a local tree: properties of objects that files cannot hold, one JSON line per object. The last line of a path
 * wins.
 */

/** Properties of an object that was downloaded to a file. */
export interface Kept {
  /** Path below the root. */
  readonly path: string;
  readonly size: number;
  /** Base64. */
  readonly md5: string;
  /** Paths with the same etag and MD5 were links to the same object. */
  readonly etag: string;
  readonly headers: Headers;
  readonly copies?: number | undefined;
}

/** Writes a manifest while objects are downloaded. */
export interface ManifestWriter {
  add(file: string, headers: Headers): void;
  /** @param isWhole every object of the tree was downloaded: the new manifest replaces an earlier one */
  finish(isWhole: boolean): void;
}

/** Appends to the manifest of a tree that is kept up to date. */
export interface ManifestAppender extends Pick<ManifestWriter, 'add'> {
  /** True if the manifest has no line for this file with this etag, as after a run that was killed or ran without a manifest. */
  lacks(file: string, etag: string): boolean;
  finish(): void;
}

function append(file: string, flags: number, text: string): void {
  const descriptor = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW | flags, 0o644);
  try {
    // `writeFileSync` repeats partial writes, which happen on a nearly full disk.
    writeFileSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

/** Appends the lines of a run. The newlines end a line that an earlier run left incomplete and mark it by the empty line that follows. */
function appendLines(file: string, lines: string): void {
  append(file, constants.O_APPEND, `\n\n${lines}`);
}

function printKept(root: string, file: string, headers: Headers): string {
  const { etag = '', 'content-md5': md5 = '', 'content-length': size, 'durability-level': copies } = headers;
  const kept: Kept = {
    path: relative(root, file),
    size: Number(size),
    md5,
    etag,
    headers: decodeStored(headers),
    ...(copies !== undefined && { copies: Number(copies) }),
  };
  return `${JSON.stringify(kept)}\n`;
}

/** @throws {UsageError} as `readTreeManifest` */
export async function createManifestAppender(root: string): Promise<ManifestAppender> {
  const file = join(root, manifestName);
  const entries = await readEntries(file);
  let isBegun = false;
  const { add, flush } = batchText((lines) => {
    if (isBegun) append(file, constants.O_APPEND, lines);
    else appendLines(file, lines);
    isBegun = true;
  });
  return {
    add: (written, headers) => add(printKept(root, written, headers)),
    lacks: (written, etag) => entries?.get(relative(root, written))?.etag !== etag,
    finish: flush,
  };
}

/** @param id makes the name of the temporary file unique to this run */
export function createManifestWriter(root: string, id: string): ManifestWriter {
  const file = join(root, manifestName);
  const unfinished = join(root, `${manifestName}.${id}`);
  let isBegun = false;
  const { add, flush } = batchText((lines) => {
    append(unfinished, isBegun ? constants.O_APPEND : constants.O_EXCL, lines);
    isBegun = true;
  });
  return {
    add: (written, headers) => add(printKept(root, written, headers)),
    finish: (isWhole) => {
      flush();
      if (!isBegun) return;
      if (isWhole) {
        renameSync(unfinished, file);
        return;
      }
      appendLines(file, readFileSync(unfinished, 'utf8'));
      rmSync(unfinished);
    },
  };
}

function readKept(line: string): Kept | undefined {
  const value = quietly<unknown>(() => JSON.parse(line), undefined);
  const { path, size, md5, etag, headers, copies } = (value ?? {}) as Record<string, unknown>;
  const stored = readStoredHeaders(headers);
  if (typeof path !== 'string' || typeof size !== 'number' || typeof md5 !== 'string' || typeof etag !== 'string' || !stored)
    return undefined;
  return { path, size, md5, etag, headers: stored, ...(typeof copies === 'number' && { copies }) };
}

/** The manifest of a tree that is being uploaded. */
export interface Manifest {
  find(file: string): Kept | undefined;
  /**
   * Stores a file with the properties that its object had. If the content has changed, the object keeps its headers and gets the new time.
   */
  store(engine: Engine, source: FileSource, target: RemotePath, kept: Kept, options: PutOptions, given: Headers): Promise<Stored>;
  /** Replaces an object that already has the content of its file by a link, if its path was a link. Returns true if it did. */
  relink(engine: Engine, file: string, target: RemotePath, etag: string): Promise<boolean>;
}

/** The entries of a manifest by path; undefined when there is no manifest. */
async function readEntries(file: string): Promise<ReadonlyMap<string, Kept> | undefined> {
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  const entries = new Map<string, Kept>();
  let number = 0;
  let damaged = 0;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    number += 1;
    // Only the last line of a run may be incomplete: an empty line or the end of the file follows.
    if (damaged > 0 && line !== '')
      throw new UsageError(`${file}, line ${damaged}: was not written by get --with-headers`, {
        hint: 'delete it, or ignore it: --without-headers',
      });
    const kept = readKept(line);
    damaged = kept || line === '' ? 0 : number;
    if (kept) entries.set(kept.path, kept);
  }
  return entries;
}

/** Identifies the content of an object. Etags of different objects may be the same: RFC 9110 compares those of one resource only. */
function contentOf({ etag, md5 }: Kept): string {
  return `${etag} ${md5}`;
}

/** The contents that several paths of a manifest had. */
function findShared(entries: Iterable<Kept>): ReadonlySet<string> {
  const [seen, shared] = [new Set<string>(), new Set<string>()];
  for (const kept of entries) (seen.has(contentOf(kept)) ? shared : seen).add(contentOf(kept));
  return shared;
}

/** The manifest of a tree; undefined when there is none. @throws {UsageError} for a damaged manifest: headers would be lost silently */
export async function readTreeManifest(root: string): Promise<Manifest | undefined> {
  const entries = await readEntries(join(root, manifestName));
  if (!entries) return undefined;
  const table = createLinkTable();
  const find: Manifest['find'] = (each) => entries.get(relative(root, each));
  return { find, store: createStore(table), relink: createRelink(table, findShared(entries.values()), find) };
}

/** The object at a path if it has the content; its file may have changed since the manifest was written. */
async function findContent({ storage }: Engine, placed: Placed, { md5 }: Kept): Promise<Placed | undefined> {
  return (await inspect(storage, placed.path))?.headers['content-md5'] === md5 ? placed : undefined;
}

/** @param shared the contents that may become links */
function createRelink(table: LinkTable, shared: ReadonlySet<string>, find: Manifest['find']): Manifest['relink'] {
  return async (engine, file, target, etag) => {
    const kept = find(file);
    if (!kept || kept.etag === '' || kept.md5 === '' || etag === '') return false;
    const content = contentOf(kept);
    if (!shared.has(content)) return false;
    const offer = (): void => table.set(content, findContent(engine, { path: target, etag }, kept));
    const waiting = table.get(content);
    if (!waiting) offer();
    const placed = await waiting;
    if (waiting && !placed) offer();
    if (placed === undefined || placed.etag === '' || placed.etag === etag || (await hashFile(file, engine.signal)) !== kept.md5)
      return false;
    const headers = encodeHeaders(kept.headers);
    try {
      const linked = await linkObject(engine, { from: placed.path, to: target }, { copiesThrough: false, ifMatch: etag });
      await engine.storage.putMetadata({ ...target, headers, ifMatch: linked.etag });
      return true;
    } catch (error) {
      // Not every service supports links; the object has its content already.
      if (!(error instanceof ApiError) || isConditionFailed(error)) throw error;
      return false;
    }
  };
}

function createStore(table: LinkTable): Manifest['store'] {
  return async (engine, source, target, kept, options, given) => {
    const isSame = source.size === kept.size && kept.md5 !== '' && (await hashFile(source.file, engine.signal)) === kept.md5;
    const { 'm-mtime': mtime } = options.headers;
    const headers = { ...kept.headers, ...(!isSame && mtime !== undefined && { 'm-mtime': mtime }), ...given };
    const put = { ...options, headers, copies: options.copies ?? kept.copies };
    const upload = (): Promise<Stored> => uploadObject(engine, source, target, put);
    if (!isSame || kept.etag === '') return await upload();
    const waiting = table.get(contentOf(kept));
    if (!waiting) {
      const storing = upload();
      const placing = storing.then(({ etag }) => ({ path: target, etag }));
      table.set(contentOf(kept), placing);
      return await storing;
    }
    const placed = await waiting;
    if (placed === undefined) return await upload();
    const { ifMatch, ifNoneMatch } = options;
    const encoded = encodeHeaders(headers);
    try {
      const { etag } = await linkObject(engine, { from: placed.path, to: target }, { copiesThrough: false, ifMatch, ifNoneMatch });
      await engine.storage.putMetadata({ ...target, headers: encoded, ifMatch: etag });
      return { path: printRemotePath(target), size: kept.size, etag, md5: kept.md5 };
    } catch (error) {
      if (!(error instanceof ApiError) || isConditionFailed(error)) throw error;
      return await upload();
    }
  };
}
