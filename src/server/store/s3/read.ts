import type { Readable } from 'node:stream';
import { readAll, streamOf, type ByteStream } from '../../../api/message.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { MissingBytes, S3Refusal, type S3Answer, type S3Client } from './client.ts';

/** Maximum bytes that are read completely before the first of them is returned. */
const smallSize = 64 * 1024;

/** Maximum number of times that a broken stream is resumed without a further byte. */
const attempts = 3;

/** The response with a content or the rest of one. */
interface Opened {
  readonly body: Readable;
  /** Number of bytes to come. */
  readonly length: number;
  readonly etag: string | undefined;
}

function takeBody(key: string, start: number, end: number | undefined, { status, headers, body }: S3Answer): Opened {
  const length = Number(headers['content-length'] ?? Number.NaN);
  const isRange = status === 206 && (headers['content-range']?.startsWith(`bytes ${start}-`) ?? false);
  const isRight =
    end === undefined ? status === 200 && !Number.isNaN(length) : length === end - start && (isRange || (status === 200 && start === 0));
  if (isRight) return { body, length, etag: headers['etag'] };
  body.on('error', () => undefined).destroy();
  const given = headers['content-range'] ?? `${headers['content-length']} bytes`;
  throw new MissingBytes(`the store has other bytes of ${key} than bytes ${start}-${end === undefined ? '' : end - 1}: ${given}`);
}

/** @param end the end of the content if absent */
function open<T>(
  client: S3Client,
  key: string,
  start: number,
  end: number | undefined,
  take: (opened: Opened) => T | Promise<T>,
): Promise<T> {
  const headers = end === undefined && start === 0 ? {} : { range: `bytes=${start}-${end === undefined ? '' : end - 1}` };
  return client.send({ method: 'GET', key, headers }, (answer) => take(takeBody(key, start, end, answer)));
}

/** A stream that resumes where it broke off: contents never change. It fails if the store sends other bytes, or none. */
class ObjectStream implements AsyncIterableIterator<Uint8Array> {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #end: number;
  readonly #etag: string | undefined;
  #at: number;
  #body: Readable;
  #chunks: AsyncIterator<Uint8Array>;
  #failures = 0;

  constructor(client: S3Client, key: string, start: number, { body, length, etag }: Opened) {
    this.#client = client;
    this.#key = key;
    this.#at = start;
    this.#end = start + length;
    this.#etag = etag;
    this.#body = body;
    this.#chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      try {
        const { value, done } = await this.#chunks.next();
        if (done !== true) return this.#take(value);
        if (this.#at === this.#end) return { value: undefined, done: true };
        throw new StoreUnavailable(`the store of the contents broke off ${this.#end - this.#at} bytes before the end of ${this.#key}`);
      } catch (error) {
        // All bytes have arrived: an error after them does not matter.
        if (this.#at !== this.#end) await this.#goOn(error);
        else return this.return();
      }
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#destroy();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(value: Uint8Array): IteratorResult<Uint8Array, undefined> {
    this.#at += value.length;
    this.#failures = 0;
    if (this.#at > this.#end) throw new MissingBytes(`the store has more bytes of ${this.#key} than it announced`);
    return { value, done: false };
  }

  async #goOn(error: unknown): Promise<void> {
    this.#destroy();
    this.#failures += 1;
    if (error instanceof MissingBytes || error instanceof S3Refusal || this.#failures > attempts) throw error;
    const opened = await open(this.#client, this.#key, this.#at, this.#end, (given) => given);
    this.#body = opened.body;
    this.#chunks = opened.body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    if (opened.etag === this.#etag) return;
    this.#destroy();
    throw new MissingBytes(`the store has another ${this.#key} than a moment ago`);
  }

  #destroy(): void {
    // The aborted body may emit an error.
    this.#body.on('error', () => undefined).destroy();
  }
}

/** Bytes of an object from `start` up to `end`. @throws {S3Refusal} 404 if it does not exist, {MissingBytes} if it is shorter */
export async function readObject(client: S3Client, key: string, start: number, end: number): Promise<ByteStream> {
  if (end - start > smallSize) return new ObjectStream(client, key, start, await open(client, key, start, end, (opened) => opened));
  return streamOf(await open(client, key, start, end, ({ body }) => readExactly(body, end - start)));
}

async function readExactly(body: Readable, length: number): Promise<Uint8Array> {
  const bytes = await readAll(body, length);
  if (bytes.length < length) throw new StoreUnavailable(`the store of the contents broke off ${length - bytes.length} bytes early`);
  return bytes;
}

/** All bytes of an object, whatever its size. */
export async function readWhole(client: S3Client, key: string): Promise<ByteStream> {
  return new ObjectStream(client, key, 0, await open(client, key, 0, undefined, (opened) => opened));
}
