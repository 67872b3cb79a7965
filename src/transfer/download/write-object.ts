import {
  closeSync,
  constants,
  createReadStream,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  statSync,
  type BigIntStats,
  type Stats,
} from 'node:fs';
import { open } from 'node:fs/promises';
import type { Headers } from '../../api/message.ts';
import { checkInterrupted, InterruptedError, LocalError, NetworkError } from '../../base/errors.ts';
import { removeQuietly } from '../../base/private-files.ts';
import {
  assertBeginning,
  compareBeginning,
  isWholeAlready,
  sizeToContinue,
  takeBeginning,
  type Beginning,
  type Continuation,
} from './beginning.ts';
import { readObject, type Opened } from './download.ts';
import { closeBody } from '../../api/close-body.ts';
import { countMoves, type Engine } from '../engine.ts';
import type { Ticket } from '../../base/monitor.ts';
import { writeChunks, writeSize } from '../local/file-writer.ts';
import type { Hasher } from '../hashing.ts';
import { assertApart, noteMade } from '../local/one-file.ts';
import { checkWay } from '../local/folders.ts';
import { createOwn, giveName, keepMode, removeStale } from '../local/partial-file.ts';
import { nameUnfinished } from '../local/unfinished-name.ts';
import { printRemotePath } from '../path.ts';
import { mayTryAgain } from '../retry.ts';
import { readMode } from '../tree/headers.ts';
import { readTime, setTime, toMilliseconds } from '../local/time.ts';
import { checkPlace } from '../local/write-target.ts';

export interface FetchOptions extends Continuation {
  /** The requested version; the current one when absent. */
  readonly etag?: string | undefined;
  /** Bytes, when known in advance. */
  readonly size?: number | undefined;
  /** Etag from the listing; another version is fetched too. */
  readonly listedEtag?: string | undefined;
  /** Sets the permission bits from the object's `m-mode`. */
  readonly modes?: boolean;
  /** True for a file of a tree, whose name the service chose: no link is followed, and anything but a regular file is left as it is. */
  readonly inTree?: boolean;
  /** For a file of a tree: its path below the root, where no directory may be a link. */
  readonly rel?: string | undefined;
  /** Called with the object's headers each time that writing starts. */
  readonly onHeaders?: ((headers: Headers) => void) | undefined;
}

export interface Fetched {
  path: string;
  file: string;
  size: number;
  etag: string | undefined;
  /** Modification time that was set, milliseconds since the epoch; undefined when the object has no `m-mtime`. */
  mtime: number | undefined;
  seen: Seen;
}

/** What `sync` remembers of a file that was written. */
export interface Seen {
  /** MD5 of the object, Base64. */
  readonly md5: string | undefined;
  /** The `m-mtime` of the object. */
  readonly kept: string | undefined;
  /** Stats of the temporary file before the rename. */
  readonly made: Stats | undefined;
  /** Stats of the file directly after the rename. */
  readonly named?: BigIntStats | undefined;
}

/** An unfinished file of at least this size is kept for the next run, bytes. */
export const worthKeeping = 1024 * 1024;

async function hashStart({ hashing, signal }: Engine, file: string, length: number, whole: number | undefined): Promise<Hasher> {
  const hasher = hashing.start(whole);
  try {
    const chunks = length > 0 ? createReadStream(file, { end: length - 1, highWaterMark: writeSize, signal }) : [];
    for await (const chunk of chunks) await hasher.update(chunk as Uint8Array);
    return hasher;
  } catch (error) {
    await hasher.drop();
    throw error;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** The path of a file, and of the temporary one that holds its content until it is complete. */
interface Places {
  readonly file: string;
  readonly unfinished: string;
}

async function writeUnfinished(
  engine: Engine,
  opened: Opened,
  { file, unfinished }: Places,
  { length: start, expected }: Beginning,
  ticket: Ticket,
  { sparse, mode }: { sparse: boolean; mode: number | undefined },
): Promise<number> {
  if (start === 0) closeSync(createOwn(unfinished, mode));
  const handle = await open(unfinished, constants.O_RDWR | constants.O_NOFOLLOW);
  try {
    const hasher = await hashStart(engine, unfinished, start, opened.size);
    ticket.keep(start);
    // The hashing thread writes every byte; only this thread can leave holes.
    const writeThere = sparse ? undefined : hasher.writeTo;
    writeThere?.(handle.fd, start);
    const read = readObject(engine, opened, { start, hasher, ticket });
    const chunks = expected ? compareBeginning(read, expected, file, opened) : read;
    let end = start;
    if (writeThere) for await (const { length } of chunks) end += length;
    else end = await writeChunks(chunks, handle, start, { sparse });
    await handle.truncate(end);
    return end;
  } finally {
    await handle.close();
  }
}

/** True if the unfinished file should be kept after this failure. */
function isKept(error: unknown, opened: Opened, unfinished: string): boolean {
  const isCut = error instanceof InterruptedError || (mayTryAgain(error) && !isWorthless(error));
  return isCut && opened.etag !== undefined && opened.size !== undefined && sizeOf(unfinished) >= worthKeeping;
}

/** True if the fetched bytes cannot be resumed: they are damaged, or the service does not support ranges. */
export function isWorthless(error: unknown): boolean {
  return error instanceof NetworkError && ['DamagedReply', 'NoRanges'].includes(error.code);
}

/** Properties that are set on a file when it is complete. */
export interface Properties {
  /** Nanoseconds since the epoch. */
  mtime: bigint | undefined;
  mode: number | undefined;
}

/**
 * The time, and with `modes` the permission bits, that the object's headers state.
 * @param there the file that is replaced, whose permission bits are kept otherwise
 */
export function readProperties({ headers }: Opened, { modes }: FetchOptions, there: Stats | undefined): Properties {
  const stated = modes === true ? readMode(headers['m-mode']) : undefined;
  return { mtime: readTime(headers['m-mtime'])?.time, mode: stated ?? keepMode(there) };
}

/** @returns the stats of the file then */
export function setProperties(descriptor: number, { mtime, mode }: Properties): Stats {
  if (mode !== undefined) fchmodSync(descriptor, mode);
  if (mtime !== undefined) setTime(descriptor, mtime);
  return fstatSync(descriptor);
}

function setPropertiesOf(file: string, properties: Properties): Stats {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return setProperties(descriptor, properties);
  } finally {
    closeSync(descriptor);
  }
}

/** @param time that was set, nanoseconds since the epoch @param made stats before the rename @param named stats after it */
export function describeFetched(
  { path, headers, size = 0, etag, md5 }: Opened,
  file: string,
  time = readTime(headers['m-mtime'])?.time,
  made?: Stats,
  named?: BigIntStats,
): Fetched {
  const kept = headers['m-mtime'];
  const mtime = time === undefined ? undefined : toMilliseconds(time);
  return { path: printRemotePath(path), file, size, etag, mtime, seen: { md5, kept, made, named } };
}

/** The error when the unfinished file is gone before it gets its name. */
export function createTakenError(file: string): NetworkError {
  return new NetworkError(`another process has taken the partial download of ${file}`, { code: 'CannotResume' });
}

/** @returns what exists under the file's name @throws {LocalError} for what must not be replaced */
export function checkTarget(
  file: string,
  { path }: Pick<Opened, 'path'>,
  { inTree, rel }: Pick<FetchOptions, 'inTree' | 'rel'>,
): Stats | undefined {
  if (rel !== undefined) checkWay(file, rel);
  const there = lstatSync(file, { throwIfNoEntry: false });
  if (inTree === true && there !== undefined) checkPlace(file, there);
  if (there?.isDirectory() === true) throw new LocalError(`${file} is a directory: ${printRemotePath(path)} cannot be written there`);
  return there;
}

/**
 * Writes the bytes of an opened object to a file, which gets its name only when it is complete and its MD5 is right.
 * @throws {NetworkError} {LocalError} and then no file exists, or the old one, or an unfinished one that the next run continues
 */
export async function writeObject(engine: Engine, opened: Opened, file: string, options: FetchOptions, ticket: Ticket): Promise<Fetched> {
  const properties = readProperties(opened, options, checkTarget(file, opened, options));
  options.onHeaders?.(opened.headers);
  if (opened.size !== undefined) ticket.expect(opened.size);
  const unfinished = nameUnfinished(file, opened.etag, engine.processes);
  const { replaces = 'anything', sparse = false } = options;
  const counting = countMoves(ticket);
  const continues = sizeToContinue(options) > 0;
  try {
    if (continues && (await isWholeAlready(engine, opened, file, options))) {
      await closeBody(opened.body);
      setPropertiesOf(file, properties);
      ticket.keep(sizeToContinue(options));
      return describeFetched(opened, file, properties.mtime);
    }
    const beginning = await takeBeginning(engine, opened, file, unfinished, options);
    const size = await writeUnfinished(engine, opened, { file, unfinished }, beginning, counting, { sparse, mode: properties.mode });
    const made = setPropertiesOf(unfinished, properties);
    if (continues && beginning.isOwn !== true) await assertBeginning(engine, file, unfinished, opened, options);
    assertApart(engine.storage, file);
    noteMade(engine.storage, made);
    if (!giveName(unfinished, file, replaces)) throw createTakenError(file);
    if (beginning.hasOthers === true) removeStale(file, engine.processes);
    const named = lstatSync(file, { bigint: true, throwIfNoEntry: false });
    return describeFetched({ ...opened, size }, file, properties.mtime, made, named);
  } catch (error) {
    const isInterrupted = engine.signal?.aborted === true;
    const isLeft = isKept(isInterrupted ? new InterruptedError('interrupted') : error, opened, unfinished);
    if (!isLeft) removeQuietly(unfinished);
    // Bytes that are kept for the next run still count as transferred.
    if (isLeft && isInterrupted) engine.noteKept?.(sizeOf(unfinished));
    else counting.takeBack();
    if (!(error instanceof InterruptedError)) checkInterrupted(engine.signal, error);
    throw error;
  }
}
