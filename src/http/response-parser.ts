import type { Headers } from '../api/message.ts';
import { fieldContent, token } from './syntax.ts';
import { createFailure } from './network-error.ts';

/**
 * Parses HTTP/1.1 responses (RFC 9112) strictly: anything ambiguous is an error, because a truncated body could look complete. Node.js has
 * a parser too, but loading and compiling its modules takes as long as all the rest of a short command.
 */

/** Number of chunks after which chunks must have at least `smallestChunk` bytes on average: smaller ones cost more than they carry. */
const manyChunks = 100_000;
const smallestChunk = 16;

/** Maximum number of interim responses (1xx) before a response; services send one or two. */
const mostInterim = 50;

/** Maximum bytes of the headers, of the trailers, and of the line before a chunk; the same limit as in Node.js. */
const largestHead = 16 * 1024;

/** Throws for bytes that are not an HTTP/1.1 response. The codes are those of Node.js's own parser. */
function refuse(message: string, code = 'HPE_INVALID_CONSTANT'): never {
  throw createFailure(code, message);
}

/** The status and headers of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: Headers;
  /** Length of the body in bytes; undefined when only its end determines it. */
  readonly length: number | undefined;
  /** True if the connection may be reused after this response. */
  readonly keepsAlive: boolean;
}

/** Receives the parts of a response. */
export interface ResponseListener {
  head(head: ResponseHead): void;
  /** A part of the body: a view of the bytes passed to `push`. */
  body(bytes: Uint8Array): void;
  /** The response is complete. @param rest unexpected bytes after it */
  end(rest: Uint8Array): void;
}

const statusLine = /HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?(?:\r\n|$)/y;
/** The size of a chunk, and extensions, which are ignored. */
const chunkLine = new RegExp(String.raw`^([\da-fA-F]{1,12})(?:;${token}(?:=(?:${token}|"[\t !#-[\]-~]*"))?)*$`);

/** A header line: its name, and its value without the blanks around it. The lookahead prevents quadratic time for many blanks. */
const headerLine = new RegExp(String.raw`(${token}):[\t ]*(?![\t ])(${fieldContent})[\t ]*(?:\r\n|$)`, 'y');

/** The headers of a response in this text, from a line on: names in lower case, repeated headers joined by commas. */
function readHeaders(text: string, start: number): Headers {
  const headers: Headers = {};
  for (headerLine.lastIndex = start; headerLine.lastIndex < text.length;) {
    const match = headerLine.exec(text) ?? refuse('a header is malformed', 'HPE_INVALID_HEADER_TOKEN');
    const name = (match[1] ?? '').toLowerCase();
    const value = match[2] ?? '';
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}

function readLength(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  // Repeated lengths are joined by a comma, which is not a digit.
  return /^\d{1,15}$/.test(value) ? Number(value) : refuse('the content-length is not a number', 'HPE_INVALID_CONTENT_LENGTH');
}

interface Framed extends ResponseHead {
  readonly framing: 'none' | 'length' | 'chunked' | 'rest';
}

/** Parses the headers of a response and determines its body length for this method (section 6.3). */
function readHead(text: string, method: string): Framed | undefined {
  statusLine.lastIndex = 0;
  const [, minor, digits] = statusLine.exec(text) ?? refuse('the status line is malformed');
  const status = Number(digits);
  const headers = readHeaders(text, statusLine.lastIndex);
  if (status === 101) refuse('the response switches protocols', 'HPE_UNEXPECTED_UPGRADE');
  if (status < 200) return minor === '1' ? undefined : refuse('HTTP/1.0 has no interim responses');
  const tokens = (headers['connection'] ?? '').toLowerCase().split(/[\t ]*,[\t ]*/);
  const stays = minor === '1' ? !tokens.includes('close') : tokens.includes('keep-alive');
  const coding = headers['transfer-encoding'];
  const length = readLength(headers['content-length']);
  if (method === 'HEAD' || status === 204 || status === 304) return { status, headers, length: 0, keepsAlive: stays, framing: 'none' };
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked' || minor === '0') refuse('the transfer coding is unknown', 'HPE_INVALID_TRANSFER_ENCODING');
    if (length !== undefined) refuse('the response has both Content-Length and Transfer-Encoding', 'HPE_UNEXPECTED_CONTENT_LENGTH');
    return { status, headers, length: undefined, keepsAlive: stays, framing: 'chunked' };
  }
  if (length !== undefined) return { status, headers, length, keepsAlive: stays, framing: length === 0 ? 'none' : 'length' };
  return { status, headers, length: undefined, keepsAlive: false, framing: 'rest' };
}

/** Detects other protocols from incomplete headers, without waiting for their end. */
function checkBeginning(text: string): void {
  const isHead = text.startsWith('HTTP/1.') || 'HTTP/1.'.startsWith(text);
  if (!isHead || /(?:^|[^\r])\n/.test(text)) refuse('it does not begin like a response');
}

const nothing = Buffer.alloc(0);

/** The part of the response that comes next. */
type State = 'head' | 'length' | 'rest' | 'chunk-line' | 'chunk' | 'chunk-end' | 'trailers' | 'over';

/** Parses the response to a request with this method. */
export class ResponseParser {
  readonly #method: string;
  readonly #listener: ResponseListener;
  #state: State = 'head';
  /** The bytes of an incomplete line or of incomplete headers. */
  #held: Buffer = nothing;
  /** Bytes of the body or the chunk that have not arrived yet; infinite if only the end of the connection determines them. */
  #missing = 0;
  /** Number of interim responses. */
  #interim = 0;
  #chunks = 0;
  /** Bytes of all chunks. */
  #chunkBytes = 0;
  /** Bytes of all trailers. */
  #trailers = 0;

  constructor(method: string, listener: ResponseListener) {
    this.#method = method;
    this.#listener = listener;
  }

  /** Parses the next bytes. @throws an error with an `HPE_` code when they cannot be part of a response */
  push(bytes: Uint8Array): void {
    for (let rest = bytes; rest.length > 0;) rest = this.#take(rest);
  }

  /** Called when the connection has ended: true if that completes the response. */
  finish(): boolean {
    if (this.#state === 'rest') this.#complete(nothing);
    return this.#state === 'over';
  }

  /** Parses the part that comes next; returns the bytes after it. */
  #take(bytes: Uint8Array): Uint8Array {
    switch (this.#state) {
      case 'head':
        return this.#takeHead(bytes);
      case 'length':
      case 'rest':
      case 'chunk':
        return this.#takeMissing(bytes);
      case 'chunk-line':
        return this.#takeChunkLine(bytes);
      case 'chunk-end':
        return this.#takeChunkEnd(bytes);
      case 'trailers':
        return this.#takeTrailer(bytes);
      default:
        return refuse('extra bytes follow the response');
    }
  }

  #complete(rest: Uint8Array): Uint8Array {
    this.#state = 'over';
    this.#listener.end(rest);
    return nothing;
  }

  /** Returns the text before a mark and the bytes after it; keeps incomplete text in `#held`. */
  #takeText(bytes: Uint8Array, mark: string): { text: string; rest: Uint8Array } | undefined {
    const held = this.#held;
    const all = held.length === 0 ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) : Buffer.concat([held, bytes]);
    const end = all.indexOf(mark);
    // Without the mark, its first bytes may have arrived.
    if ((end === -1 ? all.length - (mark.length - 1) : end) > largestHead) refuse('the headers are too large', 'HPE_HEADER_OVERFLOW');
    // Copied, because the connection reuses its buffer.
    this.#held = end === -1 ? Buffer.from(all) : nothing;
    return end === -1 ? undefined : { text: all.toString('latin1', 0, end), rest: all.subarray(end + mark.length) };
  }

  #takeHead(bytes: Uint8Array): Uint8Array {
    const taken = this.#takeText(bytes, '\r\n\r\n');
    if (taken === undefined) {
      checkBeginning(this.#held.toString('latin1'));
      return nothing;
    }
    const head = readHead(taken.text, this.#method);
    // An interim response, such as 100 or 103: the final one follows.
    if (head === undefined) {
      this.#interim += 1;
      return this.#interim > mostInterim ? refuse('too many interim responses') : taken.rest;
    }
    this.#listener.head(head);
    if (head.framing === 'none') return this.#complete(taken.rest);
    this.#state = head.framing === 'chunked' ? 'chunk-line' : head.framing;
    this.#missing = head.length ?? Infinity;
    return taken.rest;
  }

  /** Emits the bytes of the body or the chunk. */
  #takeMissing(bytes: Uint8Array): Uint8Array {
    const part = bytes.subarray(0, this.#missing);
    this.#missing -= part.length;
    this.#listener.body(part);
    const rest = bytes.subarray(part.length);
    if (this.#missing > 0) return rest;
    if (this.#state === 'length') return this.#complete(rest);
    this.#state = 'chunk-end';
    return rest;
  }

  #takeChunkLine(bytes: Uint8Array): Uint8Array {
    const taken = this.#takeText(bytes, '\r\n');
    if (taken === undefined) return nothing;
    const [, digits = ''] = chunkLine.exec(taken.text) ?? refuse('the size of a chunk is malformed', 'HPE_INVALID_CHUNK_SIZE');
    this.#missing = Number.parseInt(digits, 16);
    this.#chunks += 1;
    this.#chunkBytes += this.#missing;
    if (this.#chunks > manyChunks && this.#chunkBytes < this.#chunks * smallestChunk) refuse('the chunks are too small');
    this.#state = this.#missing === 0 ? 'trailers' : 'chunk';
    return taken.rest;
  }

  #takeChunkEnd(bytes: Uint8Array): Uint8Array {
    const taken = this.#takeText(bytes, '\r\n');
    if (taken === undefined ? this.#held.length > 1 : taken.text !== '') refuse('a chunk is longer than its size', 'HPE_STRICT');
    if (taken !== undefined) this.#state = 'chunk-line';
    return taken?.rest ?? nothing;
  }

  /** Checks the trailers after the last chunk, and discards them. */
  #takeTrailer(bytes: Uint8Array): Uint8Array {
    const taken = this.#takeText(bytes, '\r\n');
    if (taken === undefined) return nothing;
    if (taken.text === '') return this.#complete(taken.rest);
    this.#trailers += taken.text.length;
    if (this.#trailers > largestHead) refuse('too many trailers', 'HPE_HEADER_OVERFLOW');
    readHeaders(taken.text, 0);
    return taken.rest;
  }
}
