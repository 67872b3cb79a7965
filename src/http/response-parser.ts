import type { Headers } from '../api/message.ts';
import { isFieldValue, isToken, token } from './syntax.ts';
import { createFailure } from './network-error.ts';
import { readHeaderList } from './response-headers.ts';

/**
 * Replies of HTTP/1.1 (RFC 9112), read strictly: what could be understood in two ways is an error, because a body that ends too early looks like a
 * whole one. Node.js has a parser too, but what belongs to it takes as long to load and to compile as all the rest of a short command.
 */

/** Chunks after which those of a body must hold so many bytes each, in the middle: smaller ones cost more than they bring. */
const manyChunks = 100_000;
const smallestChunk = 16;

/** Interim responses (1xx) before a response: a service has one or two to send. */
const mostInterim = 50;

/** Most bytes of a head, of trailers, and of the line before a chunk; Node.js allows as many. */
const largestHead = 16 * 1024;

/** Bytes that are no reply of HTTP/1.1. The code is that of Node.js's own parser. */
function refuse(message: string, code = 'HPE_INVALID_CONSTANT'): never {
  throw createFailure(code, message);
}

/** What comes before a body. */
export interface ReplyHead {
  readonly status: number;
  readonly headers: Headers;
  /** Bytes of the body; undefined when only its end tells. */
  readonly length: number | undefined;
  /** Whether the connection may be used again after this reply. */
  readonly keepsAlive: boolean;
}

/** Who is told of a reply. */
export interface ReplyListener {
  head(head: ReplyHead): void;
  /** A part of the body: a view of the bytes that were given. */
  body(bytes: Uint8Array): void;
  /** The reply is whole. @param rest bytes that came after it: nobody asked for them */
  end(rest: Uint8Array): void;
}

/** Reads one reply. */
export interface ReplyParser {
  /** Takes the next bytes. @throws an error with a code that begins with `HPE_` when they cannot belong to a reply */
  push(bytes: Uint8Array): void;
  /** The connection has ended: true when the reply is whole by that. */
  finish(): boolean;
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
/** A size, and extensions that nobody knows. */
const chunkLine = new RegExp(String.raw`^([\da-fA-F]{1,12})(?:;${token}(?:=(?:${token}|"[\t !#-[\]-~]*"))?)*$`);

/** A text without the blanks and tabs around it. */
function trimBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && (text[start] === ' ' || text[start] === '\t')) start += 1;
  while (end > start && (text[end - 1] === ' ' || text[end - 1] === '\t')) end -= 1;
  return text.slice(start, end);
}

/** Names and values in turn. */
function readFields(lines: readonly string[]): string[] {
  const fields: string[] = [];
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon));
    const value = line.slice(colon + 1);
    if (!isToken(name) || !isFieldValue(value)) refuse('a header is malformed', 'HPE_INVALID_HEADER_TOKEN');
    fields.push(name, trimBlanks(value));
  }
  return fields;
}

function readLength(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  // Two lengths are joined by a comma, which is no digit.
  return /^\d{1,15}$/.test(value) ? Number(value) : refuse('the content-length is no number', 'HPE_INVALID_CONTENT_LENGTH');
}

interface Framed extends ReplyHead {
  readonly framing: 'none' | 'length' | 'chunked' | 'rest';
}

/** How long the body is, from the head of a reply to this method (section 6.3). */
function readHead(text: string, method: string): Framed | undefined {
  const [first = '', ...lines] = text.split('\r\n');
  const [, minor, digits] = statusLine.exec(first) ?? refuse('the status line is malformed');
  const status = Number(digits);
  const headers = readHeaderList(readFields(lines));
  if (status === 101) refuse('another protocol is offered', 'HPE_UNEXPECTED_UPGRADE');
  if (status < 200) return minor === '1' ? undefined : refuse('HTTP/1.0 has nothing in advance');
  const tokens = (headers['connection'] ?? '').toLowerCase().split(/[\t ]*,[\t ]*/);
  const stays = minor === '1' ? !tokens.includes('close') : tokens.includes('keep-alive');
  const coding = headers['transfer-encoding'];
  const length = readLength(headers['content-length']);
  if (method === 'HEAD' || status === 204 || status === 304) return { status, headers, length: 0, keepsAlive: stays, framing: 'none' };
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked' || minor === '0') refuse('the transfer-encoding is unknown', 'HPE_INVALID_TRANSFER_ENCODING');
    if (length !== undefined) refuse('a length and a transfer-encoding contradict each other', 'HPE_UNEXPECTED_CONTENT_LENGTH');
    return { status, headers, length: undefined, keepsAlive: stays, framing: 'chunked' };
  }
  if (length !== undefined) return { status, headers, length, keepsAlive: stays, framing: length === 0 ? 'none' : 'length' };
  return { status, headers, length: undefined, keepsAlive: false, framing: 'rest' };
}

/** What speaks another language is told from a head that is slow to come: nobody has to wait for its end. */
function checkBeginning(text: string): void {
  const isHead = text.startsWith('HTTP/1.') || 'HTTP/1.'.startsWith(text);
  if (!isHead || /(?:^|[^\r])\n/.test(text)) refuse('it does not begin as a reply');
}

const nothing = Buffer.alloc(0);

/** What comes next. */
type State = 'head' | 'length' | 'rest' | 'chunk-line' | 'chunk' | 'chunk-end' | 'trailers' | 'over';

/** Reads the reply to a request of this method. */
export function createReplyParser(method: string, listener: ReplyListener): ReplyParser {
  let state: State = 'head';
  /** What has come of a line or a head that is not whole. */
  let held: Buffer = nothing;
  /** Bytes of the body or the chunk that are still to come. */
  let missing = 0;
  let interim = 0;
  let [chunks, chunkBytes] = [0, 0];

  function over(rest: Uint8Array): Uint8Array {
    state = 'over';
    listener.end(rest);
    return nothing;
  }

  /** The text up to a mark, once it is whole, and what follows it; what is not whole is held. */
  function takeText(bytes: Uint8Array, mark: string): { text: string; rest: Uint8Array } | undefined {
    const all = held.length === 0 ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) : Buffer.concat([held, bytes]);
    const end = all.indexOf(mark);
    if ((end === -1 ? all.length : end) > largestHead) refuse('there is too much of a head', 'HPE_HEADER_OVERFLOW');
    if (end === -1) {
      // A copy: the bytes are the connection's own.
      held = Buffer.from(all);
      return undefined;
    }
    held = nothing;
    return { text: all.toString('latin1', 0, end), rest: all.subarray(end + mark.length) };
  }

  function takeHead(bytes: Uint8Array): Uint8Array {
    const taken = takeText(bytes, '\r\n\r\n');
    if (taken === undefined) {
      checkBeginning(held.toString('latin1'));
      return nothing;
    }
    const head = readHead(taken.text, method);
    // Something in advance, such as 100 or 103: the reply comes after it.
    if (head === undefined) {
      interim += 1;
      return interim > mostInterim ? refuse('there is no end of interim responses') : taken.rest;
    }
    listener.head(head);
    if (head.framing === 'none') return over(taken.rest);
    state = head.framing === 'chunked' ? 'chunk-line' : head.framing;
    missing = head.length ?? 0;
    return taken.rest;
  }

  /** Gives what belongs to the body or the chunk; returns what follows it. */
  function takeMissing(bytes: Uint8Array): Uint8Array {
    const part = bytes.subarray(0, missing);
    missing -= part.length;
    listener.body(part);
    return bytes.subarray(part.length);
  }

  function takeChunkLine(bytes: Uint8Array): Uint8Array {
    const taken = takeText(bytes, '\r\n');
    if (taken === undefined) return nothing;
    const [, digits = ''] = chunkLine.exec(taken.text) ?? refuse('the size of a chunk is malformed', 'HPE_INVALID_CHUNK_SIZE');
    missing = Number.parseInt(digits, 16);
    chunks += 1;
    chunkBytes += missing;
    if (chunks > manyChunks && chunkBytes < chunks * smallestChunk) refuse('the chunks are too small');
    state = missing === 0 ? 'trailers' : 'chunk';
    return taken.rest;
  }

  function takeChunkEnd(bytes: Uint8Array): Uint8Array {
    const taken = takeText(bytes, '\r\n');
    if (taken === undefined) return held.length > 1 ? refuse('a chunk is longer than its size', 'HPE_STRICT') : nothing;
    if (taken.text !== '') refuse('a chunk is longer than its size', 'HPE_STRICT');
    state = 'chunk-line';
    return taken.rest;
  }

  let trailers = 0;
  /** Fields after the last chunk: they are checked, and nobody wants them. */
  function takeTrailer(bytes: Uint8Array): Uint8Array {
    const taken = takeText(bytes, '\r\n');
    if (taken === undefined) return nothing;
    if (taken.text === '') return over(taken.rest);
    trailers += taken.text.length;
    if (trailers > largestHead) refuse('there are too many trailers', 'HPE_HEADER_OVERFLOW');
    readFields([taken.text]);
    return taken.rest;
  }

  function takeBody(bytes: Uint8Array): Uint8Array {
    const rest = takeMissing(bytes);
    return missing === 0 ? over(rest) : rest;
  }

  function takeChunk(bytes: Uint8Array): Uint8Array {
    const rest = takeMissing(bytes);
    if (missing === 0) state = 'chunk-end';
    return rest;
  }

  function takeRest(bytes: Uint8Array): Uint8Array {
    listener.body(bytes);
    return nothing;
  }

  /** What each state does with bytes; each returns what it leaves to the next. */
  const take: Readonly<Record<State, (bytes: Uint8Array) => Uint8Array>> = {
    head: takeHead,
    length: takeBody,
    rest: takeRest,
    'chunk-line': takeChunkLine,
    chunk: takeChunk,
    'chunk-end': takeChunkEnd,
    trailers: takeTrailer,
    over: () => refuse('there is more than a reply'),
  };

  return {
    push: (bytes) => {
      for (let rest = bytes; rest.length > 0;) rest = take[state](rest);
    },
    finish: () => {
      if (state === 'rest') over(nothing);
      return state === 'over';
    },
  };
}
