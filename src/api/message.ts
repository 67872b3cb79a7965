/** The two records that client and service exchange: over the network, or in a function call. */

/** Bytes that arrive in chunks. A Node.js readable stream is one. */
export type ByteStream = AsyncIterable<Uint8Array>;

/** The body of a request: bytes in memory, or a stream of chunks. */
export type Body = Uint8Array | ByteStream;

/** Header names in lower case; the values of repeated headers are joined by `, `. */
export type Headers = Record<string, string>;

/** A request to one of the two services. */
export interface Request {
  method: string;
  /** Path and query as in the request line, percent-encoded. */
  target: string;
  headers: Headers;
  body?: Body | undefined;
}

/** A service's response. The body can be read once. */
export interface HttpResponse {
  status: number;
  headers: Headers;
  body: ByteStream;
}

/** A body that is entirely in memory: readers need not wait for chunks, each of which takes several turns of the event loop. */
export class WholeBody implements AsyncIterable<Uint8Array> {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    return streamOf(this.bytes);
  }
}

/** Chunks as a stream. */
export async function* streamOf(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) if (chunk.length > 0) yield chunk;
}

/** Thrown by `readAll` when a body exceeds the limit. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** Initial size of a growing buffer, in bytes. */
const smallestBuffer = 4096;

/** Reads a body to its end. @throws {BodyTooLarge} when it has more than `limit` bytes. */
export async function readAll(given: Body | undefined, limit = Infinity): Promise<Uint8Array> {
  const body = given instanceof WholeBody ? given.bytes : given;
  if (body === undefined) return new Uint8Array();
  if (body instanceof Uint8Array) {
    if (body.length > limit) throw new BodyTooLarge(`more than ${limit} bytes`);
    return body;
  }
  // One growing buffer instead of a list of chunks: a chunk may be a single byte, and the object that holds it takes about a hundred.
  let all = Buffer.alloc(0);
  let size = 0;
  for await (const chunk of body) {
    const start = size;
    size += chunk.length;
    if (size > limit) throw new BodyTooLarge(`more than ${limit} bytes`);
    if (size > all.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(size, all.length * 2, smallestBuffer)));
      larger.set(all.subarray(0, start));
      all = larger;
    }
    all.set(chunk, start);
  }
  return all.subarray(0, size);
}
