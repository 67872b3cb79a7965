import { createHash } from 'node:crypto';
import { closeSync } from 'node:fs';
import type { ByteStream } from '../../api/message.ts';
import { ApiError, LocalError, UsageError } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import type { Ticket } from '../../base/monitor.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { drainPool } from '../../base/parallel.ts';
import { commitUnder } from '../precondition.ts';
import { tryAgain } from '../retry.ts';
import { assertUnchanged, openUnchanged, readFilePart, watchBytes, type FileSource, type StreamSource } from '../local/source.ts';
import { noteStream, openUpload, resumeFile, type Resumable, type Unfinished } from './unfinished.ts';
import { abortUpload, commitUpload, createUpload, putPart, type Part, type PutOptions, type Stored } from './parts.ts';

/** Files of at least this size are sent in parts, bytes. */
export const largeFile = 128 * 1024 * 1024;

const mebibyte = 1024 * 1024;

/** Default size of a part, bytes. */
const usualPart = 16 * mebibyte;

/** Minimum size of every part but the last (section 8), bytes. */
export const smallestPart = 5 * mebibyte;

/** Newer services accept this many parts; the specification allows 10,000. */
const fewParts = 800;
const mostParts = 10_000;

/** Bytes in each part of a file. @throws {UsageError} for a size that no service accepts */
export function choosePartSize(size: number, wanted: number | undefined): number {
  if (wanted === undefined) return Math.max(usualPart, Math.ceil(size / fewParts / mebibyte) * mebibyte);
  checkPartSize(wanted);
  const count = Math.ceil(size / wanted);
  if (count <= mostParts) return wanted;
  const least = Math.ceil(size / mostParts / mebibyte);
  throw new UsageError(`--part-size: ${count} parts are too many: the maximum is ${mostParts}`, { hint: `--part-size ${least}M` });
}

/** @throws {UsageError} for a part size that no service accepts */
export function checkPartSize(size: number): void {
  if (size < smallestPart)
    throw new UsageError(`--part-size: ${size} bytes are too few: a part has at least 5 MiB`, { hint: '--part-size 5M' });
}

/** The parts of a stream grow with their number: 800 parts hold 44 GiB, 10,000 parts more than 1 TiB. */
function chooseStreamPart(number: number, wanted: number | undefined): number {
  if (wanted !== undefined) return wanted;
  return number < 400 ? usualPart : number < 600 ? 4 * usualPart : 8 * usualPart;
}

/** Bytes that are sent in parts. */
export interface PartSource {
  /** For messages. */
  readonly label: string;
  readonly resumable: Resumable;
  /** Reads a range of the bytes, from its start on each call. All ranges are of one version. */
  readonly read: (start: number, end: number) => ByteStream;
  /** @throws {LocalError} when the bytes read may be of several versions */
  readonly assertUnchanged?: () => void;
}

interface Work {
  readonly engine: Engine;
  readonly source: PartSource;
  readonly ticket: Ticket;
}

function sendPart({ engine, source, ticket }: Work, upload: Unfinished, number: number): Promise<Part> {
  const start = number * upload.partSize;
  const end = Math.min(source.resumable.size, start + upload.partSize);
  const open = (): ByteStream => source.read(start, end);
  const { body, seen } = watchBytes(open, { label: source.label, size: end - start }, engine, ticket);
  return tryAgain(() => putPart(engine, upload.place, number, { body, length: end - start, seen }), engine);
}

/** Sends the missing parts and notes each when it has arrived. Returns the etags of all parts. */
async function sendParts(work: Work, upload: Unfinished, noteSoon: () => void): Promise<string[]> {
  const { engine, source, ticket } = work;
  const numbers = Array.from({ length: Math.ceil(source.resumable.size / upload.partSize) }, (_, number) => number);
  for (const number of numbers) ticket.keep(upload.parts[number]?.size ?? 0);
  await drainPool(
    numbers.filter((number) => !upload.parts[number]),
    async (number) => {
      upload.parts[number] = await sendPart(work, upload, number);
      noteSoon();
    },
    { limit: engine.streams, signal: engine.signal },
  );
  return numbers.map((number) => upload.parts[number]?.etag ?? '');
}

/** Statuses that do not concern the upload itself: signature, time, rate limit. */
const passing = new Set([401, 408, 420, 429]);

/** True if an upload is useless: it would be refused again, or its file has changed. */
function isHopeless(error: unknown): boolean {
  if (!(error instanceof ApiError)) return error instanceof LocalError;
  const isForNow = passing.has(error.status) || error.code === 'ClockSkew';
  return error.status >= 400 && error.status < 500 && !isForNow;
}

/**
 * Uploads a large file in concurrent parts. Parts that an interrupted run has sent are reused. The MD5 of each part is compared with the
 * one that the service computed, and the commit names exactly these parts.
 */
export async function uploadParts(
  engine: Engine,
  source: FileSource,
  target: RemotePath,
  options: PutOptions,
  ticket: Ticket,
): Promise<Stored> {
  // All parts are read from this file, even if another file takes its name.
  const descriptor = openUnchanged(source);
  try {
    const parts: PartSource = {
      label: source.label,
      resumable: resumeFile(source, engine.signal),
      read: (start, end) => readFilePart(descriptor, source, start, end),
      assertUnchanged: () => assertUnchanged(descriptor, source),
    };
    return await sendInParts(engine, parts, target, options, ticket);
  } finally {
    closeSync(descriptor);
  }
}

/** The same for any bytes that can be read repeatedly. */
export async function sendInParts(
  engine: Engine,
  source: PartSource,
  target: RemotePath,
  options: PutOptions,
  ticket: Ticket,
): Promise<Stored> {
  const work = { engine, source, ticket };
  const { resumable } = source;
  const { upload, notes } = await openUpload(engine, resumable, target, options, choosePartSize(resumable.size, engine.partSize));
  try {
    notes.now();
    const etags = await sendParts(work, upload, notes.soon);
    source.assertUnchanged?.();
    notes.now();
    const commit = (): Promise<{ etag: string; md5: string }> => tryAgain(() => commitUpload(engine.storage, upload.place, etags), engine);
    const { etag, md5 } = await commitUnder(engine.storage, target, options, commit);
    notes.drop();
    return { path: printRemotePath(target), size: resumable.size, etag, md5 };
  } catch (error) {
    // A later run cannot find parts that were never noted.
    if (isHopeless(error) || !notes.areKept) {
      notes.drop();
      await abortUpload(engine.storage, upload.place);
    } else {
      notes.now();
      const kept = Object.values(upload.parts).reduce((sum, { size }) => sum + size, 0);
      if (engine.signal?.aborted === true && kept > 0) engine.noteKept?.(kept);
    }
    throw error;
  }
}

/** A part of a stream. */
interface StreamPart {
  readonly number: number;
  readonly content: Buffer;
  readonly isLast: boolean;
}

/** Maximum memory of a part before its bytes arrive, bytes: archives may announce files of any size. */
const mostAhead = 8 * usualPart;

/** Twice the memory, with the same bytes; `most` bytes at most. */
function enlarge(content: Buffer, most: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.min(most, 2 * content.length));
  larger.set(content);
  return larger;
}

/**
 * Memory of the parts of a stream, reused once a part is stored. Memory allocated for each part would wait for a garbage collection:
 * `put --untar` of a large archive took 139 to 154 MiB instead of 106 (2026-11-24).
 */
class PartMemory {
  #free: ArrayBufferLike[] = [];

  /** Memory of a size, or less of it if the size is large. */
  take(size: number): Buffer {
    const least = Math.min(size, mostAhead);
    const found = this.#free.pop();
    return found && found.byteLength >= least && found.byteLength <= size ? Buffer.from(found) : Buffer.allocUnsafeSlow(least);
  }

  /** For a part that the service has received whole, so that nothing reads these bytes any more. */
  giveBack(content: Buffer): void {
    this.#free.push(content.buffer);
  }
}

/** Splits a stream into parts. A stream that fits into the first part is a single part with `isLast`. */
async function* splitStream(body: ByteStream, sizeOf: (number: number) => number, memory: PartMemory): AsyncGenerator<StreamPart> {
  let number = 0;
  let part = memory.take(sizeOf(number));
  let size = 0;
  for await (const chunk of body) {
    for (let read = 0; read < chunk.length;) {
      const wanted = sizeOf(number);
      if (size === part.length && size < wanted) part = enlarge(part, wanted);
      else if (size === part.length) {
        yield { number, content: part, isLast: false };
        number += 1;
        part = memory.take(sizeOf(number));
        size = 0;
      }
      const copied = Math.min(chunk.length - read, part.length - size);
      part.set(chunk.subarray(read, read + copied), size);
      size += copied;
      read += copied;
    }
  }
  yield { number, content: part.subarray(0, size), isLast: true };
}

/** Passes at most `most` bytes on. @throws the error that `refuse` creates when there are more */
export async function* limitStream(
  body: AsyncIterable<Uint8Array>,
  most: number | undefined,
  createLargeError: () => LocalError,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (most !== undefined && size > most) throw createLargeError();
    yield piece;
  }
}

/** Uploads a stream of unknown length: by `putWhole` if it fits into one part, else in concurrent parts. */
export async function uploadStream(
  engine: Engine,
  source: StreamSource,
  target: RemotePath,
  options: PutOptions,
  ticket: Ticket,
  putWhole: (content: Buffer) => Promise<Stored>,
): Promise<Stored> {
  if (engine.partSize !== undefined) checkPartSize(engine.partSize);
  const { label } = source;
  const createLargeError = (): LocalError => new LocalError(`${label} has more than ${options.maxSize} bytes: nothing was stored`);
  const body = limitStream(source.open(), options.maxSize, createLargeError);
  const memory = new PartMemory();
  const parts = splitStream(body, (number) => chooseStreamPart(number, engine.partSize), memory);
  const first = await parts.next();
  if (first.done === true) return await putWhole(Buffer.alloc(0));
  if (first.value.isLast) return await tryAgain(() => putWhole(first.value.content), engine);

  const place = await createUpload(engine, target, options).catch(async (error: unknown) => {
    await parts.return(undefined);
    throw error;
  });
  const notes = noteStream(engine, place, target);
  const etags: string[] = [];
  let total = 0;
  async function* all(): AsyncGenerator<StreamPart> {
    if (first.done !== true) yield first.value;
    yield* parts;
  }
  try {
    await drainPool(
      all(),
      async ({ number, content }) => {
        const md5 = createHash('md5').update(content).digest('base64');
        const seen = { size: content.length, md5 };
        await engine.throttle?.(content.length);
        const part = await tryAgain(
          () => putPart(engine, place, number, { body: () => content, length: content.length, md5, seen: () => Promise.resolve(seen) }),
          engine,
        );
        memory.giveBack(content);
        etags[number] = part.etag;
        total += content.length;
        ticket.move(content.length);
      },
      { limit: engine.streams, signal: engine.signal },
    );
    const { etag, md5 } = await tryAgain(() => commitUpload(engine.storage, place, etags), engine);
    return { path: printRemotePath(target), size: total, etag, md5 };
  } catch (error) {
    // The bytes of a stream cannot be read again, so nobody can resume this upload.
    await abortUpload(engine.storage, place);
    throw error;
  } finally {
    notes.drop();
  }
}
