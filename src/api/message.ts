/** The two records that cross between client and service. The network is one way of sending them, a function call another. */

/** Bytes that arrive in pieces. A Node.js readable stream is one. */
export type ByteStream = AsyncIterable<Uint8Array>;

/** What a request carries: nothing, bytes at hand, or bytes that arrive in pieces. */
export type Body = Uint8Array | ByteStream;

/** Header names in lower case; a header that came several times is joined by `, `. */
export type Headers = Record<string, string>;

/** A request to one of the two services. */
export interface Request {
  method: string;
  /** Path and query as they stand in the request line, percent-encoded. */
  target: string;
  headers: Headers;
  body?: Body | undefined;
}

/** A service's answer. The body is read once. */
export interface Reply {
  status: number;
  headers: Headers;
  body: ByteStream;
}

/** A body that has come whole: whoever wants all of it need not wait for its pieces, each of which costs several turns. */
export class WholeBody implements AsyncIterable<Uint8Array> {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    return streamOf(this.bytes);
  }
}

/** One piece of bytes as a stream. */
export async function* streamOf(...pieces: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) if (piece.length > 0) yield piece;
}

/** Thrown by `readAll` when a body is larger than the reader allows. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** Bytes of a buffer that grows, at first. */
const smallestBuffer = 4096;

/** Reads a body to its end. @throws {BodyTooLarge} when it has more than `limit` bytes. */
export async function readAll(given: Body | undefined, limit = Infinity): Promise<Uint8Array> {
  const body = given instanceof WholeBody ? given.bytes : given;
  if (body === undefined) return new Uint8Array();
  if (body instanceof Uint8Array) {
    if (body.length > limit) throw new BodyTooLarge(`more than ${limit} bytes`);
    return body;
  }
  // One buffer that grows: a piece may be a single byte, and what holds it takes a hundred.
  let all = Buffer.alloc(0);
  let size = 0;
  for await (const piece of body) {
    const start = size;
    size += piece.length;
    if (size > limit) throw new BodyTooLarge(`more than ${limit} bytes`);
    if (size > all.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(size, all.length * 2, smallestBuffer)));
      larger.set(all.subarray(0, start));
      all = larger;
    }
    all.set(piece, start);
  }
  return all.subarray(0, size);
}
