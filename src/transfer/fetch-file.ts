import {
  closeSync,
  constants,
  createReadStream,
  fchmodSync,
  futimesSync,
  lstatSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { chmod, open, rm, truncate, utimes, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { readAll } from '../api/message.ts';
import { ApiError, InterruptedError, isSystemError, LocalError, NetworkError } from '../errors.ts';
import { openHead, openObject, readObject, readSmallObject, type Opened } from './download.ts';
import { lacks } from './abilities.ts';
import { closeBody } from './close-body.ts';
import { countMoves, type Engine, type Ticket } from './engine.ts';
import { createFileWriter, writeSize } from './file-writer.ts';
import type { Hasher } from './hashing.ts';
import { isNamedPipe, openToWrite, writePipe } from './named-pipe.ts';
import { claim, createOwn, findLeft, hasUnfinished, nameUnfinished, sizeOfOwn } from './partial-file.ts';
import { printRemotePath, type RemotePath } from './path.ts';
import { checkInterrupted, mayTryAgain, tryAgain } from './retry.ts';

/** How a file is written. */
export interface FetchOptions {
  /** The version that is wanted; whatever there is when absent. */
  readonly etag?: string | undefined;
  /** Bytes, when they are known before. */
  readonly size?: number | undefined;
  /** Take what the file has already as the beginning of the object. */
  readonly continues?: boolean;
  /** Set the permission bits that were kept with the object. */
  readonly modes?: boolean;
  /** One of a tree, whose name the service gave: a link in its place is replaced, never followed. */
  readonly inTree?: boolean;
}

/** A file that was written. */
export interface Fetched {
  path: string;
  file: string;
  size: number;
  etag: string | undefined;
  /** Milliseconds since the epoch that the file was given; undefined when the object has no `m-mtime`. */
  mtime: number | undefined;
}

/** An unfinished file of at least this size is kept for the next run, bytes. */
const worthKeeping = 1024 * 1024;

/** An object of at most this size is held in memory until it is whole, bytes. */
const smallSize = 256 * 1024;

/** Milliseconds since the epoch of an `m-mtime` header: ISO 8601, or seconds. What is no time that a file can have is none. */
export function readMtime(value: string | undefined): number | undefined {
  if (value === undefined || value === '') return undefined;
  const time = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value);
  return Number.isNaN(new Date(time).getTime()) ? undefined : time;
}

async function hashStart({ hashing }: Engine, file: string, length: number, whole: number | undefined): Promise<Hasher> {
  const hasher = hashing.start(whole);
  if (length > 0) {
    for await (const piece of createReadStream(file, { end: length - 1, highWaterMark: writeSize }))
      await hasher.update(piece as Uint8Array);
  }
  return hasher;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** What is not a regular file (a device, a named pipe) is written to as it is; only a file can be replaced by a whole one. */
async function writeThrough(engine: Engine, opened: Opened, file: string, ticket: Ticket): Promise<void> {
  const pieces = readObject(engine, opened, { ticket });
  if (isNamedPipe(file)) return await writePipe(pieces, await openToWrite(file, engine.signal));
  const handle = await open(file, 'w');
  try {
    for await (const piece of pieces) await handle.writeFile(piece);
  } finally {
    await handle.close();
  }
}

/** What is there already of an object. */
interface Beginning {
  readonly length: number;
  /** True when it was the file itself, which comes back when nothing is made of it. */
  readonly isFile: boolean;
}

const nothing: Beginning = { length: 0, isFile: false };

/** Takes what is there already of the object: left by an interrupted run, or with `continues` the file itself. */
function takeBeginning(engine: Engine, opened: Opened, file: string, unfinished: string, { continues = false }: FetchOptions): Beginning {
  const { etag, size } = opened;
  if (etag === undefined || size === undefined || lacks(engine.storage, 'ranges')) return nothing;
  const [longest, ...others] = findLeft(file, etag, engine.processes);
  const left = longest === undefined ? 0 : sizeOfOwn(longest);
  // What has another name, or another owner, is not gone on with: that would change it there too, or fail.
  const own = continues ? sizeOfOwn(file) : 0;
  const isFile = own > left && own <= size;
  const taken = isFile ? file : longest;
  if (taken === undefined || !claim(taken, unfinished)) return nothing;
  for (const useless of isFile && longest !== undefined ? [longest, ...others] : others) rmSync(useless, { force: true });
  const length = sizeOfOwn(unfinished);
  return length <= size ? { length, isFile } : nothing;
}

/** Writes pieces here while the next ones come; gives the end of what was written. */
async function writePieces(pieces: AsyncIterable<Uint8Array>, handle: FileHandle, start: number): Promise<number> {
  const writer = createFileWriter(handle, start);
  try {
    for await (const piece of pieces) {
      const waits = writer.add(piece);
      if (waits) await waits;
    }
  } finally {
    // What came before a failure is kept for the next try.
    await writer.flush();
  }
  return writer.end();
}

async function writeUnfinished(engine: Engine, opened: Opened, unfinished: string, start: number, ticket: Ticket): Promise<number> {
  if (start === 0) closeSync(createOwn(unfinished));
  const handle = await open(unfinished, constants.O_RDWR | constants.O_NOFOLLOW);
  try {
    const hasher = await hashStart(engine, unfinished, start, opened.size);
    ticket.move(start);
    hasher.writeTo?.(handle.fd, start);
    const pieces = readObject(engine, opened, { start, hasher, ticket });
    let end = start;
    if (hasher.writeTo) for await (const { length } of pieces) end += length;
    else end = await writePieces(pieces, handle, start);
    await handle.truncate(end);
    return end;
  } finally {
    await handle.close();
  }
}

/** Whether the beginning of a file is worth to be kept after this failure. */
function isKept(error: unknown, opened: Opened, unfinished: string): boolean {
  const isCut = error instanceof InterruptedError || (mayTryAgain(error) && !isWorthless(error));
  return isCut && opened.etag !== undefined && opened.size !== undefined && sizeOf(unfinished) >= worthKeeping;
}

/** Whether what is there of an object cannot be gone on with: it is damaged, or the service gives no parts. */
function isWorthless(error: unknown): boolean {
  return error instanceof NetworkError && ['DamagedReply', 'NoRanges'].includes(error.code);
}

/** Properties that a file is given when it is whole. */
interface Properties {
  mtime: number | undefined;
  mode: number | undefined;
}

function readMode(value: string | undefined): number | undefined {
  return value !== undefined && /^0?[0-7]{3,4}$/.test(value) ? Number.parseInt(value, 8) & 0o777 : undefined;
}

/** Writes a small object in one go: much quicker than in steps, of which each waits for a thread. */
function writeSmall(content: Uint8Array, file: string, unfinished: string, { mtime, mode }: Properties): void {
  const descriptor = createOwn(unfinished);
  try {
    for (let at = 0; at < content.length;) at += writeSync(descriptor, content, at);
    if (mode !== undefined) fchmodSync(descriptor, mode);
    if (mtime !== undefined) futimesSync(descriptor, mtime / 1000, mtime / 1000);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  renameSync(unfinished, file);
}

/** Whether an earlier run may have left the beginning of this file. */
function mayGoOn(file: string, { size, continues = false }: FetchOptions): boolean {
  return continues || ((size === undefined || size >= worthKeeping) && hasUnfinished(file));
}

/** Asks for the object; for its headers alone when some of its bytes may be there already. */
async function openForFile(engine: Engine, source: RemotePath, file: string, options: FetchOptions): Promise<Opened> {
  const head = mayGoOn(file, options) && !lacks(engine.storage, 'ranges') ? await openHead(engine, source) : undefined;
  const hasBeginning = head !== undefined && (options.continues === true || findLeft(file, head.etag, engine.processes).length > 0);
  if (hasBeginning && (options.etag === undefined || options.etag === head.etag)) return head;
  return await openObject(engine, source, options.etag);
}

async function fetchOnce(engine: Engine, source: RemotePath, file: string, options: FetchOptions, ticket: Ticket): Promise<Fetched> {
  const opened = await openForFile(engine, source, file, options);
  try {
    return await writeObject(engine, opened, file, options, ticket);
  } catch (error) {
    // One that nobody has begun to read would keep its connection from all other requests.
    await closeBody(opened.body);
    throw error;
  }
}

async function writeObject(engine: Engine, opened: Opened, file: string, options: FetchOptions, ticket: Ticket): Promise<Fetched> {
  const source = printRemotePath(opened.path);
  const target = (options.inTree === true ? lstatSync : statSync)(file, { throwIfNoEntry: false });
  if (target?.isDirectory() === true) throw new LocalError(`${file} is a directory: ${source} cannot be written there`);
  if (opened.size !== undefined) ticket.expect(opened.size);
  const mtime = readMtime(opened.headers['m-mtime']);
  const fetched = { path: source, file, size: opened.size ?? 0, etag: opened.etag, mtime };
  if (target?.isFile() === false && options.inTree !== true) {
    await writeThrough(engine, opened, file, ticket);
    return fetched;
  }
  const unfinished = nameUnfinished(file, opened.etag, engine.processes);
  const properties = { mtime, mode: options.modes === true ? readMode(opened.headers['m-mode']) : undefined };
  let beginning = nothing;
  const counting = countMoves(ticket);
  try {
    if (opened.size !== undefined && opened.size <= smallSize) {
      const content = opened.body
        ? await readSmallObject(engine, opened, counting)
        : await readAll(readObject(engine, opened, { ticket: counting }));
      writeSmall(content, file, unfinished, properties);
      return fetched;
    }
    beginning = takeBeginning(engine, opened, file, unfinished, options);
    fetched.size = await writeUnfinished(engine, opened, unfinished, beginning.length, counting);
    if (properties.mode !== undefined) await chmod(unfinished, properties.mode);
    if (mtime !== undefined) await utimes(unfinished, mtime / 1000, mtime / 1000);
    if (claim(unfinished, file)) return fetched;
    throw new NetworkError(`another process has taken what was written of ${file}`, { code: 'CannotResume' });
  } catch (error) {
    counting.takeBack();
    if (engine.signal?.aborted === true && !(error instanceof InterruptedError)) {
      if (!isKept(new InterruptedError('interrupted'), opened, unfinished)) await giveUp(unfinished, file, beginning);
      checkInterrupted(engine.signal, error);
    }
    if (!isKept(error, opened, unfinished)) await giveUp(unfinished, file, beginning);
    throw error;
  }
}

/** Removes what is not worth to be kept. A file that was taken as the beginning is as it was. */
async function giveUp(unfinished: string, file: string, { isFile, length }: Beginning): Promise<void> {
  if (isFile && lstatSync(file, { throwIfNoEntry: false }) === undefined && sizeOfOwn(unfinished) >= length) {
    await truncate(unfinished, length);
    claim(unfinished, file);
  }
  await rm(unfinished, { force: true });
}

/** What has gone into a pipe or a device cannot be taken back: it is never begun again. */
function isReplaceable(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() !== false;
}

/**
 * Writes an object to a file, which gets its name only when it is whole and its MD5 is right. A connection that breaks is taken up
 * again; what an interrupted run left is gone on with. The modification time that was kept with the object is set.
 * @throws {NetworkError} {ApiError} {LocalError} and then there is no file, or the old one
 */
export async function fetchFile(engine: Engine, source: RemotePath, file: string, options: FetchOptions = {}): Promise<Fetched> {
  const ticket = engine.monitor.begin(printRemotePath(source), options.size);
  try {
    const patience = isReplaceable(file) ? engine : { ...engine, retries: 0 };
    let { continues = false } = options;
    const fetched = await tryAgain(async () => {
      try {
        return await fetchOnce(engine, source, file, { ...options, continues }, ticket);
      } catch (error) {
        // What was there is no beginning of the object.
        if (isWorthless(error)) continues = false;
        throw error;
      }
    }, patience);
    ticket.end('done');
    return fetched;
  } catch (error) {
    ticket.end('failed');
    throw explainFetch(error, source, file);
  }
}

function explainFetch(error: unknown, source: RemotePath, file: string): unknown {
  if (error instanceof ApiError && error.status === 412) {
    return new ApiError(412, error.code, `${printRemotePath(source)} was changed meanwhile`, { requestId: error.requestId, cause: error });
  }
  // A failed write has no name; the one under which the file was being written says nothing to anybody.
  if (isSystemError(error) && (error.path === undefined || basename(error.path).startsWith('.cloud-'))) error.path = file;
  return error;
}
