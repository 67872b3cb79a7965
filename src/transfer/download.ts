import { createHash, type Hash } from 'node:crypto';
import { streamOf, type Headers } from '../api/message.ts';
import type { Download } from '../api/operation.ts';
import { NetworkError } from '../errors.ts';
import type { Engine, Ticket } from './engine.ts';
import { inspect } from './inspect.ts';
import { printRemotePath, type RemotePath } from './path.ts';
import { readRange, readRanges } from './ranges.ts';
import { checkInterrupted, mayTryAgain, pauseBefore } from './retry.ts';

/** Objects from this size on come in several ranges at once, bytes. */
const largeSize = 64 * 1024 * 1024;

/** An object whose headers have come. */
export interface Opened {
  readonly path: RemotePath;
  readonly headers: Headers;
  readonly etag: string | undefined;
  /** Bytes, when the service says. */
  readonly size: number | undefined;
  /** Base64, when the service says. */
  readonly md5: string | undefined;
  /** Undefined when only the headers were asked for. */
  readonly body: Download['body'] | undefined;
}

function readLength(value: string | undefined): number | undefined {
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}

/** Asks for an object; its headers say what the bytes must be. With `etag` it must still be that version. */
export async function openObject({ storage }: Pick<Engine, 'storage'>, path: RemotePath, etag?: string): Promise<Opened> {
  const { headers, body } = await storage.getObject({ ...path, ifMatch: etag });
  if (/type=directory/.test(headers['content-type'] ?? '')) {
    await closeBody(body);
    throw new NetworkError(`${printRemotePath(path)} is a directory`, { code: 'IsDirectory', hint: 'to get a tree: cloud stor get -r' });
  }
  const { etag: version, 'content-md5': md5, 'content-length': length } = headers;
  return { path, headers, etag: version, size: readLength(length), md5, body };
}

/** The same without the bytes, when only some of them will be asked for; undefined where that is not to be had. */
export async function openHead({ storage }: Pick<Engine, 'storage'>, path: RemotePath): Promise<Opened | undefined> {
  const found = await inspect(storage, path);
  if (found?.type !== 'object') return undefined;
  const { etag, 'content-md5': md5, 'content-length': length } = found.headers;
  const size = readLength(length);
  if (etag === undefined || size === undefined || md5 === undefined) return undefined;
  return { path, headers: found.headers, etag, size, md5, body: undefined };
}

/** Gives up a reply whose rest is not wanted. */
export async function closeBody(body: Opened['body']): Promise<void> {
  if (body === undefined) return;
  const pieces = body[Symbol.asyncIterator]();
  try {
    // A stream that was never begun would keep its connection.
    await pieces.next();
    await pieces.return?.();
  } catch {
    // Nobody wanted it.
  }
}

/** The first reply to its end or to where it broke. */
async function* readFirst(engine: Engine, body: Download['body'], count: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    count(piece.length);
    await engine.throttle(piece.length);
    yield piece;
  }
}

/** The bytes from `start` on; a connection that breaks is taken up again where it broke. */
async function* readOn(engine: Engine, opened: Opened, start: number): AsyncGenerator<Uint8Array> {
  const { path, etag, size } = opened;
  const version = etag !== undefined && size !== undefined ? { path, etag, size } : undefined;
  if (version && (opened.body === undefined || start > 0 || (version.size >= largeSize && engine.streams > 1))) {
    await closeBody(opened.body);
    const read = version.size - start >= largeSize && engine.streams > 1 ? readRanges : readRange;
    yield* read(engine, version, start, version.size);
    return;
  }
  let received = 0;
  try {
    yield* readFirst(engine, opened.body ?? streamOf(), (bytes) => {
      received += bytes;
    });
    return;
  } catch (error) {
    checkInterrupted(engine.signal, error);
    if (!version || received >= version.size || engine.retries === 0 || !mayTryAgain(error)) throw error;
    await pauseBefore(1, engine.signal);
  }
  yield* readRange(engine, version, received, version.size);
}

/** How bytes of an object are read. */
export interface Reading {
  /** Bytes that are there already, and their hash. */
  readonly start?: number;
  readonly hash?: Hash;
  readonly ticket?: Ticket | undefined;
}

/**
 * The bytes of an opened object, in order. The stream ends only when the announced length has come and its MD5 is right.
 * @throws {NetworkError} otherwise: never a short stream that looks whole
 */
export async function* readObject(engine: Engine, opened: Opened, reading: Reading = {}): AsyncGenerator<Uint8Array> {
  const { start = 0, hash = createHash('md5'), ticket } = reading;
  const path = printRemotePath(opened.path);
  let received = start;
  for await (const piece of readOn(engine, opened, start)) {
    received += piece.length;
    hash.update(piece);
    ticket?.move(piece.length);
    yield piece;
  }
  if (opened.size !== undefined && received !== opened.size)
    throw new NetworkError(`${path} came with ${received} of ${opened.size} bytes`, { code: 'TruncatedReply' });
  if (opened.md5 !== undefined && opened.md5 !== hash.digest('base64'))
    throw new NetworkError(`${path} was damaged on its way: its MD5 differs`, { code: 'DamagedReply' });
}

/** An object's bytes in order, for a pipe. */
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
