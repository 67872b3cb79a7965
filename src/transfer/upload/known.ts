import { closeSync, statSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { pickStoredHeaders } from '../../api/stored-headers.ts';
import { ApiError, isSystemError, quietly } from '../../base/errors.ts';
import { setNewest } from '../../base/newest.ts';
import { openToAppend, writePrivate } from '../../base/private-files.ts';
import { readPrivateLines } from '../../base/private-lines.ts';
import type { Engine } from '../engine.ts';
import { inspect, type Inspected } from '../inspect.ts';
import type { FileSource, Source } from '../local/source.ts';
import { hashFile } from '../local/walk.ts';
import { assertStorable, encodeRemotePath, printRemotePath, readRemotePath, type RemotePath } from '../path.ts';
import { encodeHeaders } from '../tree/headers.ts';
import type { PutOptions, Stored } from './parts.ts';
import { uploadObject } from './upload.ts';

/** Minimum size in bytes of files that are linked: a link takes two to three requests, an upload one. */
const smallestLinked = 128 * 1024;

/** Maximum number of objects remembered; the oldest are forgotten. */
const mostKnown = 200_000;

/** Number of copies when the headers of an object do not state it. */
const usualCopies = 2;

/** Uploads files, or creates a link where this machine has stored an object with the same bytes before. */
export interface KnownStore {
  readonly store: typeof uploadObject;
  /** Number of files that were linked instead of sent. */
  readonly linked: () => number;
  close(): void;
}

/** An object that this machine stored. */
interface Known {
  readonly path: string;
  readonly etag: string;
}

function readLine(line: string): [string, Known] | undefined {
  return quietly<[string, Known] | undefined>(() => {
    const [size, md5, path, etag] = JSON.parse(line) as unknown[];
    const isWhole = typeof size === 'number' && [md5, path, etag].every((each) => typeof each === 'string' && each !== '');
    return isWhole ? [`${size} ${String(md5)}`, { path: String(path), etag: String(etag) }] : undefined;
  }, undefined);
}

function printLine(key: string, { path, etag }: Known): string {
  const [size, md5] = key.split(' ');
  return `${JSON.stringify([Number(size), md5, path, etag])}\n`;
}

/** Reads what earlier runs stored; later lines win. A file with many duplicates is rewritten without them. */
function readKnown(file: string): Map<string, Known> {
  const known = new Map<string, Known>();
  let lines = 0;
  for (const line of readPrivateLines(file)) {
    lines += 1;
    const read = readLine(line);
    if (read) setNewest(known, ...read, mostKnown);
  }
  if (lines > known.size * 2 + 1000) writePrivate(file, [...known].map(([key, each]) => printLine(key, each)).join(''), { flush: false });
  return known;
}

/** True if the object is still the one that was stored and has the requested number of copies. */
function isUnchanged(found: Inspected, known: Known, key: string, copies: number | undefined): boolean {
  const { etag, 'content-md5': md5, 'content-length': size, 'durability-level': level } = found.headers;
  const isSame = found.type === 'object' && etag === known.etag && `${Number(size)} ${md5 ?? ''}` === key;
  return isSame && Number(level ?? usualCopies) === (copies ?? usualCopies);
}

/** True if a file is still the one that was hashed. */
function isSameFile({ file, size, mtime, ctime }: FileSource): boolean {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats !== undefined && Number(stats.size) === size && stats.mtimeNs === mtime && stats.ctimeNs === ctime;
}

/**
 * Creates a link to an object of the account, unconditionally or only if the target does not exist. The service compares the etag in the
 * same step.
 * @returns true if the target has that version now; false when the bytes have to be sent
 */
async function link({ storage }: Engine, from: RemotePath, to: RemotePath, etag: string, options: PutOptions): Promise<boolean> {
  try {
    const response = await storage.putSnapLink({
      ...to,
      ifMatch: etag,
      ifNoneMatch: options.ifNoneMatch,
      location: encodeRemotePath(from),
    });
    // A different etag means that the service does not compare: the upload that follows replaces the link.
    return response['etag'] === etag;
  } catch (error) {
    // Links are disabled, or the object is gone, changed or not readable: nothing was changed.
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** Sets the headers of the file on a link. */
async function describe({ storage }: Engine, target: RemotePath, found: Inspected, etag: string, { headers }: PutOptions): Promise<void> {
  const wanted = encodeHeaders(headers);
  const had = pickStoredHeaders(found.headers);
  if (!isDeepStrictEqual({ ...wanted, 'content-type': wanted['content-type'] ?? had['content-type'] }, had))
    await storage.putMetadata({ ...target, headers: wanted, ifMatch: etag });
}

/** Creates a link where an object with the bytes of the file is known and unchanged. @returns undefined when the bytes have to be sent */
async function tryLink(
  engine: Engine,
  known: ReadonlyMap<string, Known>,
  source: FileSource,
  target: RemotePath,
  options: PutOptions,
): Promise<Stored | undefined> {
  const md5 = await hashFile(source.file, engine.signal);
  const key = `${source.size} ${md5}`;
  const before = known.get(key);
  if (!before || !isSameFile(source)) return undefined;
  const from = readRemotePath(before.path, target.account);
  if (from.account !== target.account || before.path === printRemotePath(target)) return undefined;
  const found = await inspect(engine.storage, from);
  if (!found || !isUnchanged(found, before, key, options.copies)) return undefined;
  if (!(await link(engine, from, target, before.etag, options))) return undefined;
  await describe(engine, target, found, before.etag, options);
  const ticket = engine.monitor.begin(printRemotePath(target), source.size);
  ticket.keep(source.size);
  ticket.end('done');
  return { path: printRemotePath(target), size: source.size, etag: before.etag, md5 };
}

/** True if a link may replace the upload of a file. Links cannot carry the conditions under which a certain version is replaced. */
function mayLink(source: Source, { ifMatch, ifModifiedSince, maxSize }: PutOptions): source is FileSource {
  return (
    source.kind === 'file' &&
    source.isGrowing !== true &&
    source.size >= smallestLinked &&
    ifMatch === undefined &&
    ifModifiedSince === undefined &&
    maxSize === undefined
  );
}

/** @param file remembers what earlier runs stored at one service; may be deleted at any time */
export function createKnownStore(file: string): KnownStore {
  const known = readKnown(file);
  const sizes = new Set([...known.keys()].map((key) => Number(key.split(' ')[0])));
  let handle: number | undefined;
  let linked = 0;

  function add(source: FileSource, { path, etag, md5 }: Stored): void {
    if (etag === '' || md5 === '') return;
    const key = `${source.size} ${md5}`;
    known.set(key, { path, etag });
    sizes.add(source.size);
    try {
      if (handle === undefined) {
        if (statSync(file, { throwIfNoEntry: false }) === undefined) writePrivate(file, '', { flush: false });
        handle = openToAppend(file);
      }
      writeFileSync(handle, printLine(key, { path, etag }));
    } catch (error) {
      if (!isSystemError(error)) throw error;
      // Without disk space or permission, the next run sends bytes that it could have linked.
    }
  }

  return {
    store: async (engine, source, target, options) => {
      assertStorable(target);
      if (!mayLink(source, options)) return await uploadObject(engine, source, target, options);
      const done = sizes.has(source.size) ? await tryLink(engine, known, source, target, options) : undefined;
      if (done) linked += 1;
      const stored = done ?? (await uploadObject(engine, source, target, options));
      add(source, stored);
      return stored;
    },
    linked: () => linked,
    close: () => {
      if (handle !== undefined) closeSync(handle);
      handle = undefined;
    },
  };
}
