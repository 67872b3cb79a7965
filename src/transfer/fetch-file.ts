import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  createReadStream,
  fchmodSync,
  futimesSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { chmod, open, rename, rm, utimes, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ApiError, InterruptedError, isSystemError, LocalError } from '../errors.ts';
import { closeBody, openHead, openObject, readObject, type Opened } from './download.ts';
import type { Engine, Ticket } from './engine.ts';
import { createFileWriter, writeSize } from './file-writer.ts';
import type { Hasher } from './hashing.ts';
import { unfinishedName } from './local-walk.ts';
import { createOwn, sizeOfOwn } from './partial-file.ts';
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

/** Where a file is written before it is whole: the same for the same version of an object, so that the next run finds it. */
function nameUnfinished(file: string, etag: string | undefined): string {
  const id = createHash('sha256')
    .update(`${basename(file)}\n${etag ?? randomUUID()}`)
    .digest('hex')
    .slice(0, 20);
  return join(dirname(file), `.cloud-${id}.part`);
}

/** Milliseconds since the epoch of an `m-mtime` header: ISO 8601, or seconds. */
export function readMtime(value: string | undefined): number | undefined {
  if (value === undefined || value === '') return undefined;
  const time = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value);
  return Number.isNaN(time) ? undefined : time;
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
  const handle = await open(file, 'w');
  try {
    for await (const piece of readObject(engine, opened, { ticket })) await handle.writeFile(piece);
  } finally {
    await handle.close();
  }
}

/** What is there already of the object: left by an interrupted run, or with `continues` the file itself. */
async function takeBeginning(opened: Opened, file: string, unfinished: string, { continues = false }: FetchOptions): Promise<number> {
  const { etag, size } = opened;
  if (etag === undefined || size === undefined) return 0;
  if (continues && sizeOf(file) > sizeOfOwn(unfinished) && sizeOf(file) <= size) await rename(file, unfinished);
  const there = sizeOfOwn(unfinished);
  return there <= size ? there : 0;
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
  const isCut = error instanceof InterruptedError || (mayTryAgain(error) && !isDamaged(error));
  return isCut && opened.etag !== undefined && opened.size !== undefined && sizeOf(unfinished) >= worthKeeping;
}

function isDamaged(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'DamagedReply';
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
function writeSmall(pieces: readonly Uint8Array[], file: string, unfinished: string, { mtime, mode }: Properties): number {
  const content = Buffer.concat(pieces);
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
  return content.length;
}

/** Whether an earlier run may have left the beginning of this file. */
function mayGoOn(file: string, { size, continues = false }: FetchOptions): boolean {
  if (continues) return true;
  return (size === undefined || size >= worthKeeping) && readdirSync(dirname(file)).some((name) => unfinishedName.test(name));
}

/** Asks for the object; for its headers alone when some of its bytes may be there already. */
async function openForFile(engine: Engine, source: RemotePath, file: string, options: FetchOptions): Promise<Opened> {
  const head = mayGoOn(file, options) ? await openHead(engine, source) : undefined;
  const hasBeginning = head !== undefined && (options.continues === true || sizeOfOwn(nameUnfinished(file, head.etag)) > 0);
  if (hasBeginning && (options.etag === undefined || options.etag === head.etag)) return head;
  return await openObject(engine, source, options.etag);
}

async function fetchOnce(engine: Engine, source: RemotePath, file: string, options: FetchOptions, ticket: Ticket): Promise<Fetched> {
  const opened = await openForFile(engine, source, file, options);
  const target = (options.inTree === true ? lstatSync : statSync)(file, { throwIfNoEntry: false });
  if (target?.isDirectory() === true) {
    await closeBody(opened.body);
    throw new LocalError(`${file} is a directory: ${printRemotePath(source)} cannot be written there`);
  }
  const mtime = readMtime(opened.headers['m-mtime']);
  const fetched = { path: printRemotePath(source), file, size: opened.size ?? 0, etag: opened.etag, mtime };
  if (target?.isFile() === false && options.inTree !== true) {
    await writeThrough(engine, opened, file, ticket);
    return fetched;
  }
  const unfinished = nameUnfinished(file, opened.etag);
  const properties = { mtime, mode: options.modes === true ? readMode(opened.headers['m-mode']) : undefined };
  let moved = 0;
  const counting: Ticket = {
    ...ticket,
    move: (bytes) => {
      moved += bytes;
      ticket.move(bytes);
    },
  };
  try {
    if (opened.size !== undefined && opened.size <= smallSize) {
      const pieces = [];
      for await (const piece of readObject(engine, opened, { ticket: counting })) pieces.push(piece);
      writeSmall(pieces, file, unfinished, properties);
      return fetched;
    }
    const start = await takeBeginning(opened, file, unfinished, options);
    fetched.size = await writeUnfinished(engine, opened, unfinished, start, counting);
    if (properties.mode !== undefined) await chmod(unfinished, properties.mode);
    if (mtime !== undefined) await utimes(unfinished, mtime / 1000, mtime / 1000);
    await rename(unfinished, file);
    return fetched;
  } catch (error) {
    ticket.move(-moved);
    if (engine.signal?.aborted === true && !(error instanceof InterruptedError)) {
      if (!isKept(new InterruptedError('interrupted'), opened, unfinished)) await rm(unfinished, { force: true });
      checkInterrupted(engine.signal, error);
    }
    if (!isKept(error, opened, unfinished)) await rm(unfinished, { force: true });
    throw error;
  }
}

/**
 * Writes an object to a file, which gets its name only when it is whole and its MD5 is right. A connection that breaks is taken up
 * again; what an interrupted run left is gone on with. The modification time that was kept with the object is set.
 * @throws {NetworkError} {ApiError} {LocalError} and then there is no file, or the old one
 */
export async function fetchFile(engine: Engine, source: RemotePath, file: string, options: FetchOptions = {}): Promise<Fetched> {
  const ticket = engine.monitor.begin(printRemotePath(source), options.size);
  try {
    const fetched = await tryAgain(() => fetchOnce(engine, source, file, options, ticket), engine);
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
