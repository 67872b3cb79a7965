import { createHash } from 'node:crypto';
import type { Body, Headers, Request } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { bufferBody, readBodyParameters } from '../http/read-parameters.ts';
import type { RequestKey } from './exchange.ts';
import { normalizeQuery, redactValue } from './redact.ts';

/** Headers that select the response. */
const choosing = ['range', 'content-range', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'location'] as const;

/** Maximum size of the parameters of a compute request, bytes. */
const parameterLimit = 16 * 1024 * 1024;

/** A request to forward, and its key, which is known once its body has been read. */
export interface KeyedRequest {
  readonly request: Request;
  key(): RequestKey;
}

function readChoice({ headers }: Request): Headers | undefined {
  const pairs = choosing.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}

function hash(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The digest of parameters without their passwords, because a digest that includes them would allow guessing them. */
async function digestParameters(request: Request): Promise<string> {
  try {
    // The service checks the MD5 of the body itself.
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name !== 'content-md5'));
    const parameters = await readBodyParameters({ ...request, headers }, 'compute', parameterLimit);
    return hash(JSON.stringify(redactValue(parameters)));
  } catch (error) {
    // Parameters that cannot be parsed leave no trace in the recording.
    if (error instanceof ApiError) return hash(`unreadable: ${error.code}`);
    throw error;
  }
}

async function* digestStream(body: Body, finish: (sha256: string, size: number) => void): AsyncGenerator<Uint8Array> {
  const digest = createHash('sha256');
  let size = 0;
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    digest.update(chunk);
    size += chunk.length;
    yield chunk;
  }
  finish(digest.digest('hex'), size);
}

/** Prepares a request for matching. @throws {ApiError} 413 for compute parameters of more than 16 MiB */
export async function keyRequest(service: ServiceName, request: Request): Promise<KeyedRequest> {
  const { method, target, body } = request;
  const found = {
    service,
    method,
    path: target.split('?', 1)[0] ?? '',
    query: normalizeQuery(target),
    choice: readChoice(request),
  };
  if (body === undefined) return { request, key: () => ({ ...found, sha256: hash(''), size: 0 }) };
  if (service === 'compute') {
    const whole = await bufferBody(request, service, parameterLimit);
    const sha256 = await digestParameters(whole);
    return { request: whole, key: () => ({ ...found, sha256 }) };
  }
  let read: { sha256: string; size: number } | undefined;
  const passed = digestStream(body, (sha256, size) => {
    read = { sha256, size };
  });
  return { request: { ...request, body: passed }, key: () => ({ ...found, ...read }) };
}
