import { createHash } from 'node:crypto';
import { readMediaType } from '../../api/media-type.ts';
import { BodyTooLarge, readAll, type Request } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { groupBy } from '../../base/group-by.ts';
import { LimitReached } from '../limit.ts';
import { parseMultipart } from './multipart.ts';

/** Named values of a request: strings, lists of strings for repeated names, or any JSON values. */
export type Parameters = Readonly<Record<string, unknown>>;

function createBodyError(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

/** Converts pairs to an object; a repeated name gets a list. */
export function collectPairs(pairs: Iterable<readonly [string, unknown]>): Parameters {
  const lists = [...groupBy(pairs, ([name]) => name)].map(([name, group]) => [name, group.map(([, value]) => value)] as const);
  return Object.fromEntries(lists.map(([name, list]) => [name, list.length === 1 ? list[0] : list]));
}

function parseJson(text: string): Parameters {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw createBodyError(`the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw createBodyError('the body must be a JSON object');
  return Object.fromEntries(Object.entries(value));
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw createBodyError('the body is not UTF-8');
  }
}

function readForm(bytes: Uint8Array, contentType: string): Parameters {
  let fields: ReturnType<typeof parseMultipart>;
  try {
    fields = parseMultipart(bytes, contentType);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ApiError(400, 'BadRequest', `the body is not multipart/form-data with the boundary of its content type: ${error.message}`, {
      cause: error,
    });
  }
  return collectPairs(fields.map(([name, value]) => [decodeText(name), decodeText(value)] as const));
}

function checkMd5(bytes: Uint8Array, expected: string | undefined): void {
  if (expected === undefined) return;
  const actual = createHash('md5').update(bytes).digest('base64');
  if (actual !== expected.trim()) throw createBodyError(`Content-MD5 is ${expected} but the body has ${actual}`);
}

async function readBody(request: Request, service: ServiceName, bodyLimit: number): Promise<Uint8Array> {
  const code = service === 'compute' ? 'RequestTooLarge' : 'RequestEntityTooLarge';
  const tooLarge = new LimitReached(413, code, `a body may have at most ${bodyLimit} bytes`, 'parameterBytes');
  if (Number(request.headers['content-length'] ?? 0) > bodyLimit) throw tooLarge;
  try {
    return await readAll(request.body, bodyLimit);
  } catch (error) {
    throw error instanceof BodyTooLarge ? tooLarge : error;
  }
}

/** Reads the body of a request into memory, so that it can be read again. @throws {ApiError} 413. */
export async function bufferBody(request: Request, service: ServiceName, bodyLimit: number): Promise<Request> {
  return { ...request, body: await readBody(request, service, bodyLimit) };
}

function checkEncoding({ 'content-encoding': encoding = 'identity', 'content-type': contentType = '' }: Request['headers']): void {
  if (encoding.toLowerCase() !== 'identity')
    throw new ApiError(415, 'UnsupportedMediaType', `content encoding ${encoding} is not supported`);
  const { charset = 'utf-8' } = readMediaType(contentType).parameters;
  if (!/^(?:utf-?8|us-ascii)$/iu.test(charset))
    throw new ApiError(415, 'UnsupportedMediaType', `charset ${charset} is not supported; only UTF-8 is`);
}

/**
 * Reads the parameters in a request's body: JSON, urlencoded or multipart/form-data (compute specification, section 1).
 * @param bodyLimit maximum size in bytes
 * @throws {ApiError} 400 `BadRequest`, 413, 415 `UnsupportedMediaType`.
 */
export async function readBodyParameters(request: Request, service: ServiceName, bodyLimit: number): Promise<Parameters> {
  const bytes = await readBody(request, service, bodyLimit);
  checkMd5(bytes, request.headers['content-md5']);
  if (bytes.length === 0) return {};
  checkEncoding(request.headers);
  const contentType = request.headers['content-type'] ?? 'application/json';
  const { type } = readMediaType(contentType);
  if (type === 'application/json') return parseJson(decodeText(bytes));
  if (type === 'application/x-www-form-urlencoded') return collectPairs(new URLSearchParams(decodeText(bytes)));
  if (type === 'multipart/form-data') return readForm(bytes, contentType);
  throw new ApiError(
    415,
    'UnsupportedMediaType',
    `content type ${type} is not supported; send application/json, application/x-www-form-urlencoded or multipart/form-data`,
  );
}
