import { createHash } from 'node:crypto';
import { readAll, type Headers, type HttpResponse } from '../../api/message.ts';
import { isRecord } from '../../base/is-record.ts';
import { Mismatch } from './outcome.ts';

/** Maximum size of a response body, bytes. */
const largestBody = 64 * 1024 * 1024;

export type Json = Readonly<Record<string, unknown>>;

/** A response with its whole body, and the request that it belongs to. */
export interface Response {
  /** `PUT /demo/stor/x`. */
  readonly request: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

export async function readResponse(request: string, received: HttpResponse): Promise<Response> {
  return { request, status: received.status, headers: received.headers, body: Buffer.from(await readAll(received.body, largestBody)) };
}

/** The body as JSON. @throws {Mismatch} */
function jsonOf({ request, body }: Response): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    throw new Mismatch(`${request}: the body is not JSON`);
  }
}

/** The body as a JSON object. @throws {Mismatch} */
export function objectOf(response: Response): Json {
  const value = jsonOf(response);
  if (!isRecord(value)) throw new Mismatch(`${response.request}: the body is not a JSON object`);
  return value;
}

/** The body as a list of JSON objects. @throws {Mismatch} */
export function listOf(response: Response): readonly Json[] {
  const value = jsonOf(response);
  if (!Array.isArray(value) || !value.every(isRecord)) throw new Mismatch(`${response.request}: the body is not a list of JSON objects`);
  return value;
}

/** The lines of a text stream. */
export function linesOf({ body }: Response): string[] {
  return body
    .toString()
    .split('\n')
    .filter((line) => line !== '');
}

/** The records of a stream of JSON lines. @throws {Mismatch} */
export function recordsOf(response: Response): Json[] {
  return linesOf(response).map((line) => {
    const value = jsonOf({ ...response, body: Buffer.from(line) });
    if (isRecord(value)) return value;
    throw new Mismatch(`${response.request}: a line is not a JSON object`);
  });
}

/** The MD5 of some bytes, in base64. */
export function md5Of(body: Uint8Array): string {
  return createHash('md5').update(body).digest('base64');
}

/** What a check expects of a response. */
export interface Wanted {
  readonly status: number | readonly number[];
  /** `code` of the error in the body. */
  readonly code?: string | readonly string[];
  readonly headers?: Readonly<Record<string, RegExp>>;
  /** The body must be empty. */
  readonly empty?: true;
  /** The exact body. */
  readonly body?: string | Uint8Array;
}

function codeOf(response: Response): string | undefined {
  try {
    const { code } = objectOf(response);
    return typeof code === 'string' ? code : undefined;
  } catch {
    return undefined;
  }
}

/** The source of a pattern that matches a text as it stands. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[$()*+./?[\\\]^{|}]/gu, '\\$&');
}

/** Request, status and code of a response: `GET /my/x answered 404 ResourceNotFound`. */
export function describeResponse(response: Response): string {
  const code = response.status >= 400 ? codeOf(response) : undefined;
  return `${response.request} returned ${response.status}${code === undefined ? '' : ` ${code}`}`;
}

function listed<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

/** Describes the first difference between a response and what is expected; undefined without one. */
export function findDifference(response: Response, { status, code, headers = {}, empty, body }: Wanted): string | undefined {
  const told = describeResponse(response);
  if (!listed(status).includes(response.status)) return `${told} instead of ${listed(status).join(' or ')}`;
  if (code !== undefined && !listed(code).includes(codeOf(response) ?? ''))
    return `${told}: the code should be ${listed(code).join(' or ')}`;
  for (const [name, pattern] of Object.entries(headers)) {
    const value = response.headers[name];
    if (value === undefined) return `${told} without the header ${name}`;
    if (!pattern.test(value)) return `${told} with ${name}: ${value}`;
  }
  if (empty && response.body.length > 0) return `${told} with a body of ${response.body.length} bytes`;
  if (body !== undefined && !response.body.equals(Buffer.from(body))) return `${told} with other content than stored`;
  return undefined;
}
