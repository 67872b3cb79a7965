import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { streamOf, WholeBody, type ByteStream, type Headers, type HttpResponse } from '../../api/message.ts';
import type { Download, Listing, Operation } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { LimitReached } from '../limit.ts';
import { Answer } from './handler.ts';
import { MethodNotAllowed } from './match.ts';

/** Records are sent in chunks of about this many characters: one chunk per record would cost more than the record. */
const chunkSize = 64 * 1024;

/** A response with one JSON value. */
export function writeJson(status: number, value: unknown, headers: Headers = {}): HttpResponse {
  const bytes = Buffer.from(JSON.stringify(value));
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'content-md5': createHash('md5').update(bytes).digest('base64'),
      'content-length': String(bytes.length),
      ...headers,
    },
    body: new WholeBody(bytes),
  };
}

/** Records that are already serialised: UTF-8, one JSON value per line. */
export class WrittenRecords<T> implements AsyncIterable<T> {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (const line of Buffer.from(this.bytes).toString().split('\n')) if (line !== '') yield JSON.parse(line) as T;
  }
}

/** Joins records into a body, one line each. */
export async function* joinLines<T>(records: AsyncIterable<T>, write: (record: T) => string): ByteStream & AsyncGenerator<Uint8Array> {
  let text = '';
  for await (const record of records) {
    text += `${write(record)}\n`;
    if (text.length < chunkSize) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

export function writeEmpty(status: number, headers: Headers = {}): HttpResponse {
  const length = status === 204 || status === 304 ? {} : { 'content-length': '0' };
  return { status, headers: { ...length, ...headers }, body: streamOf() };
}

/** Converts a handler's result to a response. */
export function writeResult(operation: Operation, result: unknown): HttpResponse {
  const answer = result instanceof Answer ? result : new Answer(result);
  const value: unknown = answer.value;
  const status = answer.status ?? operation.status;
  switch (operation.result) {
    case 'json':
      return writeJson(status, value, answer.headers);
    case 'empty':
      return writeEmpty(status, { ...(value as Headers), ...answer.headers });
    case 'records': {
      const { headers, records } = value as Listing<unknown>;
      const body =
        records instanceof WrittenRecords ? new WholeBody(records.bytes) : joinLines(records, (record) => JSON.stringify(record));
      return {
        status,
        headers: { 'content-type': `application/x-json-stream; type=${operation.recordType}`, ...headers, ...answer.headers },
        body,
      };
    }
    case 'lines': {
      const { headers, records } = value as Listing<string>;
      return { status, headers: { 'content-type': 'text/plain', ...headers, ...answer.headers }, body: joinLines(records, (line) => line) };
    }
    default:
      return value as Download;
  }
}

/** Maximum characters of input in a message (enough to recognize it), of a path (the longest name), and of the message itself. */
const inputLimit = 100;
const pathLimit = 1024;
const messageLimit = 2000;

/** Truncates long words and quotations of a message, which come from input. */
export function cutInput(message: string): string {
  const cut = message.slice(0, 1_000_000).replaceAll(/"[^"]*"|[^\s"]+/gu, (input) => {
    const limit = input.startsWith('/') ? pathLimit : inputLimit;
    return input.length > limit ? `${input.slice(0, limit)}...${input.startsWith('"') ? '"' : ''}` : input;
  });
  return cut.length > messageLimit ? `${cut.slice(0, messageLimit)}...` : cut;
}

/** The error for a request that cannot be served at the moment and may be retried. */
export class ServiceUnavailable extends ApiError {
  /** Seconds. */
  readonly retryAfter = 1;

  constructor() {
    super(503, 'ServiceUnavailable', 'the service cannot reach its database or its content store: retry');
  }
}

/** Converts an error to a response: `{code, message}`, and the extra fields or headers of some errors. */
export function writeError(error: ApiError): HttpResponse {
  const { status, code } = error;
  const message = cutInput(error.message);
  const errors = error.errors.map((each) => ({ ...each, field: cutInput(each.field), message: cutInput(each.message) }));
  const allow: Headers = error instanceof MethodNotAllowed ? { allow: error.allow } : {};
  const after = error instanceof ServiceUnavailable || error instanceof LimitReached ? error.retryAfter : undefined;
  const again: Headers = after === undefined ? {} : { 'retry-after': String(after) };
  return writeJson(status, { code, message, ...(errors.length > 0 && { errors }) }, { ...allow, ...again });
}

export function addHeaders(response: HttpResponse, headers: Headers): HttpResponse {
  return { ...response, headers: { ...response.headers, ...headers } };
}

/** Releases the resources of a body that will not be read, such as an open file. */
export function discardBody(body: ByteStream): void {
  if (body instanceof Readable) body.destroy();
  else if (!(body instanceof WholeBody)) void body[Symbol.asyncIterator]().return?.();
}

/** The response without its body, for HEAD. */
export function dropBody(response: HttpResponse): HttpResponse {
  discardBody(response.body);
  return { ...response, body: streamOf() };
}
