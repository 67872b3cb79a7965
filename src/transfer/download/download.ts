import { hash } from 'node:crypto';
import { readClock } from '../../base/clock.ts';
import { streamOf, WholeBody, type Headers } from '../../api/message.ts';
import type { Download } from '../../api/operation.ts';
import { checkInterrupted, NetworkError, UsageError } from '../../base/errors.ts';
import { lacks } from '../abilities.ts';
import { closeBody } from '../../api/close-body.ts';
import type { Engine } from '../engine.ts';
import type { Ticket } from '../../base/monitor.ts';
import { isListing } from '../entry-type.ts';
import type { Hasher } from '../hashing.ts';
import { inspect } from '../inspect.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { readRange, readRanges } from './ranges.ts';
import { pauseAfter } from '../retry.ts';

/** Minimum size in bytes for concurrent ranges, which are used when one connection is slow. */
const largeSize = 64 * 1024 * 1024;

/** Milliseconds before the rate of one connection is judged, and the minimum rate in bytes per second. */
const probation = 500;
const quickEnough = 80 * 1024 * 1024;

/** An object whose response headers have been received. */
export interface Opened {
  readonly path: RemotePath;
  readonly headers: Headers;
  readonly etag: string | undefined;
  /** Bytes, if the service states them. */
  readonly size: number | undefined;
  /** Base64, if the service states it. */
  readonly md5: string | undefined;
  /** Undefined when only the headers were requested. */
  readonly body: Download['body'] | undefined;
}

function readLength(value: string | undefined): number | undefined {
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}

/** The error for a directory where an object is to be downloaded. */
export function createDirectoryError(path: RemotePath): UsageError {
  return new UsageError(`${printRemotePath(path)} is a directory`, { hint: 'to download a tree: cloud stor get -r' });
}

/** @throws {UsageError} for the listing of a directory, which is discarded */
export async function assertObject(path: RemotePath, { headers, body }: Download): Promise<void> {
  if (!isListing(headers)) return;
  await closeBody(body);
  throw createDirectoryError(path);
}

/** Describes the response to a request for an object. */
export function describeOpened(path: RemotePath, { headers, body }: Download): Opened {
  const { etag, 'content-md5': md5, 'content-length': length } = headers;
  return { path, headers, etag, size: readLength(length), md5, body };
}

/** Requests an object; its headers state size and MD5. With `etag` the object must still be that version. */
export async function openObject({ storage }: Pick<Engine, 'storage'>, path: RemotePath, etag?: string): Promise<Opened> {
  const response = await storage.getObject({ ...path, ifMatch: etag });
  await assertObject(path, response);
  return describeOpened(path, response);
}

/** Requests only the headers, for a download that starts later in the object; undefined where the headers lack etag, size or MD5. */
export async function openHead({ storage }: Pick<Engine, 'storage'>, path: RemotePath): Promise<Opened | undefined> {
  const found = await inspect(storage, path);
  if (found?.type !== 'object') return undefined;
  const { etag, 'content-md5': md5, 'content-length': length } = found.headers;
  const size = readLength(length);
  if (etag === undefined || size === undefined || md5 === undefined) return undefined;
  return { path, headers: found.headers, etag, size, md5, body: undefined };
}

/** Reads one stream while it is fast enough. Counts the bytes, so that a broken or slow stream can be continued by range requests. */
async function* readStream(
  { throttle, streams, storage, signal }: Engine,
  chunks: AsyncIterable<Uint8Array>,
  rest: number | undefined,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const mayChange = rest !== undefined && rest >= largeSize && streams > 1 && throttle === undefined && !lacks(storage, 'ranges');
  const started = readClock();
  let received = 0;
  for await (const chunk of chunks) {
    received += chunk.length;
    count(chunk.length);
    if (throttle) await throttle(chunk.length);
    // Bytes received before an interruption may take long to pass the throttle.
    checkInterrupted(signal);
    yield chunk;
    const spent = readClock() - started;
    if (mayChange && spent > probation && (received / spent) * 1000 < quickEnough && rest - received > largeSize) return;
  }
}

/** Reads the bytes from `start`. A broken connection is resumed where it broke; a slow one is continued by concurrent ranges. */
async function* readOn(engine: Engine, opened: Opened, start: number): AsyncGenerator<Uint8Array> {
  const { path, etag, size, body } = opened;
  const version = etag !== undefined && size !== undefined ? { path, etag, size } : undefined;
  if (version === undefined) {
    yield* readStream(engine, body ?? streamOf(), undefined, () => undefined);
    return;
  }
  let at = start;
  const isFirst = start === 0 && body !== undefined;
  if (!isFirst) await closeBody(body);
  try {
    const chunks = isFirst ? body : readRange({ ...engine, throttle: undefined }, version, start, version.size);
    yield* readStream(engine, chunks, version.size - start, (bytes) => {
      at += bytes;
    });
  } catch (error) {
    const isHopeless = at >= version.size || lacks(engine.storage, 'ranges');
    await pauseAfter(error, 1, isHopeless ? { ...engine, retries: 0 } : engine);
  }
  if (at >= version.size) return;
  const read = version.size - at >= largeSize && engine.streams > 1 ? readRanges : readRange;
  yield* read(engine, version, at, version.size);
}

function checkLength({ path, size }: Opened, received: number): void {
  if (size === undefined || received === size) return;
  throw new NetworkError(`${printRemotePath(path)} was truncated: received ${received} of ${size} bytes`, { code: 'TruncatedReply' });
}

function checkMd5({ path, md5 }: Opened, computed: string): void {
  if (md5 === undefined || md5 === computed) return;
  throw new NetworkError(`${printRemotePath(path)} was damaged in transit: its MD5 differs`, { code: 'DamagedReply' });
}

async function gather(body: Opened['body'], throttle: Engine['throttle'], ticket: Ticket): Promise<Uint8Array> {
  const chunks = [];
  for await (const chunk of body ?? streamOf()) {
    if (throttle) await throttle(chunk.length);
    ticket.move(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** @throws {NetworkError} unless the length and MD5 of all bytes of an object are those of the headers */
export function checkContent(opened: Opened, content: Uint8Array): Uint8Array {
  checkLength(opened, content.length);
  checkMd5(opened, hash('md5', content, 'base64'));
  return content;
}

/**
 * Reads all bytes of a small object, without resuming a broken connection: far faster than `readObject`. They are returned without a promise
 * if all have arrived.
 * @throws {NetworkError} unless the length and MD5 are those of the headers
 */
export function readSmallObject({ throttle }: Engine, opened: Opened, ticket: Ticket): Promise<Uint8Array> | Uint8Array {
  const { body } = opened;
  if (!(body instanceof WholeBody) || throttle !== undefined)
    return gather(body, throttle, ticket).then((content) => checkContent(opened, content));
  ticket.move(body.bytes.length);
  return checkContent(opened, body.bytes);
}

/** How the bytes of an object are read. */
export interface Reading {
  /** Number of bytes that exist already; `hasher` has their hash. */
  readonly start?: number;
  readonly hasher?: Hasher;
  readonly ticket?: Ticket | undefined;
}

/**
 * Yields the bytes of an opened object in order. The stream ends normally only if the length and MD5 are those of the headers.
 * @throws {NetworkError} otherwise, so that a truncated stream never looks complete
 */
export async function* readObject(engine: Engine, opened: Opened, reading: Reading = {}): AsyncGenerator<Uint8Array> {
  const { start = 0, hasher = engine.hashing.start(opened.size), ticket } = reading;
  let received = start;
  try {
    for await (const chunk of readOn(engine, opened, start)) {
      received += chunk.length;
      // Awaiting undefined would cost a microtask for every chunk.
      const waits = hasher.update(chunk);
      if (waits) await waits;
      ticket?.move(chunk.length);
      yield chunk;
    }
    checkLength(opened, received);
    // Needed even without an MD5 to compare: `digest` reports failed writes of the hasher.
    checkMd5(opened, await hasher.digest());
  } finally {
    await hasher.drop();
  }
}

/** Streams an object's bytes in order, for a pipe. */
export async function* downloadObject(engine: Engine, path: RemotePath): AsyncGenerator<Uint8Array> {
  const opened = await openObject(engine, path);
  const ticket = engine.monitor.begin(printRemotePath(path), opened.size);
  let isDone = false;
  try {
    yield* readObject(engine, opened, { ticket });
    isDone = true;
  } catch (error) {
    checkInterrupted(engine.signal, error);
    throw error;
  } finally {
    ticket.end(isDone ? 'done' : 'failed');
  }
}
