import { closeSync, statSync, writeSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { ApiError, isSystemError } from '../../base/errors.ts';
import { openToAppend, writePrivate } from '../../base/private-files.ts';
import { readPrivateLines } from '../../base/private-lines.ts';
import type { Engine } from '../engine.ts';
import { inspect, type Inspected } from '../inspect.ts';
import type { FileSource, Source } from '../local/source.ts';
import { hashFile } from '../local/walk.ts';
import { encodeRemotePath, printRemotePath, readRemotePath, type RemotePath } from '../path.ts';
import { encodeHeaders } from '../tree/headers.ts';
import { pickStoredHeaders } from '../tree/link.ts';
import type { PutOptions, Stored } from './parts.ts';
import { uploadObject } from './upload.ts';

/** Smaller files are sent: a link takes two to three requests instead of one, bytes. */
const smallestLinked = 128 * 1024;

/** Objects that are remembered; the oldest are forgotten. */
const mostKnown = 200_000;

/** Copies of an object that says nothing of them. */
const usualCopies = 2;

/** Stores objects, and links to one that this machine stored before where a file has the same bytes. */
export interface KnownStore {
  readonly store: typeof uploadObject;
  /** Files that were linked instead of sent. */
  readonly linked: () => number;
  close(): void;
}

/** An object that this machine stored. */
interface Known {
  readonly path: string;
  readonly etag: string;
}

function readLine(line: string): [string, Known] | undefined {
  try {
    const [size, md5, path, etag] = JSON.parse(line) as unknown[];
    const isWhole = typeof size === 'number' && [md5, path, etag].every((each) => typeof each === 'string' && each !== '');
    return isWhole ? [`${size} ${String(md5)}`, { path: String(path), etag: String(etag) }] : undefined;
  } catch {
    return undefined;
  }
}

function printLine(key: string, { path, etag }: Known): string {
  const [size, md5] = key.split(' ');
  return `${JSON.stringify([Number(size), md5, path, etag])}\n`;
}

/** Reads what earlier runs stored, later lines first; a file that has grown long is written anew without what is known twice. */
function readKnown(file: string): Map<string, Known> {
  const known = new Map<string, Known>();
  let lines = 0;
  for (const line of readPrivateLines(file)) {
    lines += 1;
    const read = readLine(line);
    if (!read) continue;
    known.delete(read[0]);
    known.set(...read);
    if (known.size > mostKnown) known.delete(known.keys().next().value ?? '');
  }
  if (lines > known.size * 2 + 1000) writePrivate(file, [...known].map(([key, each]) => printLine(key, each)).join(''), { flush: false });
  return known;
}

/** Whether the object there is still the one that was stored, with as many copies as are wanted. */
function isUnchanged(found: Inspected, known: Known, key: string, copies: number | undefined): boolean {
  const { etag, 'content-md5': md5, 'content-length': size, 'durability-level': level } = found.headers;
  const isSame = found.type === 'object' && etag === known.etag && `${Number(size)} ${md5 ?? ''}` === key;
  return isSame && Number(level ?? usualCopies) === (copies ?? usualCopies);
}

/** Whether a file is still the one that was hashed. */
function isSameFile({ file, size, mtime, ctime }: FileSource): boolean {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats !== undefined && Number(stats.size) === size && stats.mtimeNs === mtime && stats.ctimeNs === ctime;
}

/**
 * Makes a link to an object of the account at a place where nothing is asked but, perhaps, that nothing is there. The service compares the
 * version in the same step. @returns whether the place has that version now; false when the bytes have to be sent
 */
async function link({ storage }: Engine, from: RemotePath, to: RemotePath, etag: string, options: PutOptions): Promise<boolean> {
  try {
    const reply = await storage.putSnapLink({ ...to, ifMatch: etag, ifNoneMatch: options.ifNoneMatch, location: encodeRemotePath(from) });
    // Another version there means a service that does not compare: what is sent next replaces it.
    return reply['etag'] === etag;
  } catch (error) {
    // Links are switched off, the object went or changed, or may not be read: nothing was done.
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** Gives a link the headers of the file. */
async function describe({ storage }: Engine, target: RemotePath, found: Inspected, etag: string, { headers }: PutOptions): Promise<void> {
  const wanted = encodeHeaders(headers);
  const had = pickStoredHeaders(found.headers);
  if (!isDeepStrictEqual({ ...wanted, 'content-type': wanted['content-type'] ?? had['content-type'] }, had))
    await storage.putMetadata({ ...target, headers: wanted, ifMatch: etag });
}

/** Links a file where an object with its bytes is known and unchanged. @returns undefined when the bytes have to be sent */
async function tryLink(
  engine: Engine,
  known: ReadonlyMap<string, Known>,
  source: FileSource,
  target: RemotePath,
  options: PutOptions,
): Promise<Stored | undefined> {
  const md5 = await hashFile(source.file);
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

/** Whether a file may become a link: what replaces one version of an object goes under the condition of that version, which links have not. */
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

/** @param file remembers what runs stored at one service; it may be removed at any time */
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
      writeSync(handle, printLine(key, { path, etag }));
    } catch (error) {
      if (!isSystemError(error)) throw error;
      // Without room or right the next run sends what it could have linked.
    }
  }

  return {
    store: async (engine, source, target, options) => {
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
