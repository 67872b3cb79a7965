import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Body, ByteStream, Headers, HttpResponse } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { discardBody } from '../http/response.ts';
import type { Failure } from './failure.ts';
import type { DueFault } from './rules.ts';

/** Thrown to close the connection without a response, or in the middle of one; the transport of the service catches it. */
export class ConnectionClosed extends Error {
  constructor() {
    super('the service was told to close the connection');
  }
}

/** The faults injected into one request. */
export interface Injection {
  /** Due rules and their failures, for the log. */
  readonly due: readonly DueFault[];
  /** Staleness of its reads, milliseconds. */
  readonly staleness: number | undefined;
  /** True if its success response is empty. */
  readonly isEmpty: boolean;
}

type Due<K> = DueFault & { failure: Extract<Failure, { kind: K }> };

function findDue<K extends Failure['kind']>(due: readonly DueFault[], ...kinds: readonly K[]): Due<K> | undefined {
  return due.find((each): each is Due<K> => (kinds as readonly string[]).includes(each.failure.kind));
}

export function createInjection(due: readonly DueFault[]): Injection {
  return { due, staleness: findDue(due, 'stale')?.failure.milliseconds, isEmpty: findDue(due, 'empty') !== undefined };
}

/** Delays or fails the request as the rules say, before it is processed. @throws {ApiError} {ConnectionClosed} */
export async function beginInjection({ due }: Injection, service: ServiceName, action: string): Promise<void> {
  const late = findDue(due, 'latency');
  if (late !== undefined) await sleep(late.failure.milliseconds, undefined, { signal: late.cleared }).catch(() => undefined);
  const end = findDue(due, 'error', 'throttle', 'close')?.failure;
  if (end === undefined) return;
  if (end.kind === 'close') throw new ConnectionClosed();
  const [status, code] = service === 'compute' ? ([420, 'RequestThrottled'] as const) : ([429, 'TooManyRequests'] as const);
  if (end.kind === 'throttle') throw new ApiError(status, code, 'the service was told to throttle this request');
  throw new ApiError(end.status, end.code, `the service was told to answer ${end.code} to ${action}`);
}

/** Resolves when the rule is cleared or the client is gone. */
async function waitForEnd(cleared: AbortSignal, gone: AbortSignal): Promise<void> {
  const either = AbortSignal.any([cleared, gone]);
  if (!either.aborted) await once(either, 'abort');
}

/** Passes some bytes of a body; then the body breaks off, or pauses until the rule is cleared. */
async function* disturb(
  body: ByteStream | Iterable<Uint8Array>,
  { failure, cleared }: DueFault,
  passing: number,
  gone: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let left = passing;
  let isDone = false;
  for await (const chunk of body) {
    if (isDone || chunk.length < left) {
      left -= chunk.length;
      yield chunk;
      continue;
    }
    if (left > 0) yield chunk.subarray(0, left);
    isDone = true;
    if (failure.kind.startsWith('cut')) throw new ConnectionClosed();
    await waitForEnd(cleared, gone);
    if (gone.aborted) throw new ConnectionClosed();
    if (left < chunk.length) yield chunk.subarray(left);
  }
}

/** Number of bytes that pass before a body is disturbed; half of the body if the rule does not say. */
function countPassing({ bytes }: { bytes: number | undefined }, { 'content-length': length }: Headers): number {
  return bytes ?? Math.floor(Number(length ?? 0) / 2);
}

/** The request body for the service. @param gone aborted when the client is gone */
export function disturbUpload({ due }: Injection, body: Body | undefined, headers: Headers, gone: AbortSignal): Body | undefined {
  const fault = findDue(due, 'cut-upload', 'stall-upload');
  return fault === undefined || body === undefined
    ? body
    : disturb(body instanceof Uint8Array ? [body] : body, fault, countPassing(fault.failure, headers), gone);
}

/** A valid but wrong MD5. */
const wrongMd5 = Buffer.alloc(16, 0xbd).toString('base64');

function falsify(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, /^(?:content|computed)-md5$/u.test(name) ? wrongMd5 : value]),
  );
}

/** A body that stops waiting when its reader stops, and then releases its source. */
function withEnd(body: ByteStream, source: ByteStream, abort: AbortController): ByteStream {
  const chunks = body[Symbol.asyncIterator]();
  const iterator: AsyncIterator<Uint8Array> = {
    next: () => chunks.next(),
    return: async () => {
      abort.abort();
      discardBody(source);
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** The response for the client. */
export function disturbResponse({ due }: Injection, response: HttpResponse): HttpResponse {
  const headers = findDue(due, 'wrong-md5') === undefined ? response.headers : falsify(response.headers);
  const fault = findDue(due, 'cut', 'stall');
  if (fault === undefined) return { ...response, headers };
  const abort = new AbortController();
  const body = disturb(response.body, fault, countPassing(fault.failure, response.headers), abort.signal);
  return { ...response, headers, body: withEnd(body, response.body, abort) };
}
