import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Body, ByteStream, Headers, Reply } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { discardBody } from '../http/response.ts';
import type { Failure } from './failure.ts';
import type { DueFault } from './rules.ts';

/** The connection is to be closed without a response, or in the middle of one: what carries the service does that. */
export class ConnectionClosed extends Error {
  constructor() {
    super('the service was told to close the connection');
  }
}

/** What happens to one request. */
export interface Injection {
  /** Rules and what they do, for the log. */
  readonly due: readonly DueFault[];
  /** Milliseconds by which its reads lag. */
  readonly staleness: number | undefined;
  /** Whether its success says nothing. */
  readonly isEmpty: boolean;
}

function findDue<K extends Failure['kind']>(
  due: readonly DueFault[],
  ...kinds: readonly K[]
): (DueFault & { failure: Extract<Failure, { kind: K }> }) | undefined {
  return due.find((each) => (kinds as readonly string[]).includes(each.failure.kind)) as
    | (DueFault & { failure: Extract<Failure, { kind: K }> })
    | undefined;
}

export function createInjection(due: readonly DueFault[]): Injection {
  return { due, staleness: findDue(due, 'stale')?.failure.milliseconds, isEmpty: findDue(due, 'empty') !== undefined };
}

function createThrottled(service: ServiceName): ApiError {
  return service === 'compute'
    ? new ApiError(420, 'RequestThrottled', 'the service was told to throttle this request')
    : new ApiError(429, 'TooManyRequests', 'the service was told to throttle this request');
}

/** Waits and fails as told, before anything is done. @throws {ApiError} {ConnectionClosed} */
export async function beginInjection({ due }: Injection, service: ServiceName, action: string): Promise<void> {
  const late = findDue(due, 'latency');
  if (late !== undefined) await sleep(late.failure.milliseconds, undefined, { signal: late.cleared }).catch(() => undefined);
  const end = findDue(due, 'error', 'throttle', 'close')?.failure;
  if (end === undefined) return;
  if (end.kind === 'close') throw new ConnectionClosed();
  if (end.kind === 'throttle') throw createThrottled(service);
  throw new ApiError(end.status, end.code, `the service was told to answer ${end.code} to ${action}`);
}

/** Resolves when a rule is cleared or nobody waits any more. */
async function waitForEnd(cleared: AbortSignal, gone: AbortSignal): Promise<void> {
  const either = AbortSignal.any([cleared, gone]);
  if (!either.aborted) await once(either, 'abort');
}

/** A body of which some bytes pass; then it breaks off, or waits until the rule is cleared. */
async function* disturb(
  body: ByteStream,
  { failure, cleared }: DueFault & { failure: { kind: string } },
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

/** The bytes that pass before a body is disturbed; half of it when the rule does not say. */
function countPassing({ bytes }: { bytes: number | undefined }, { 'content-length': length }: Headers): number {
  return bytes ?? Math.floor(Number(length ?? 0) / 2);
}

async function* streamBody(body: Body): AsyncGenerator<Uint8Array> {
  if (body instanceof Uint8Array) yield body;
  else yield* body;
}

/** The body of a request as the service gets it. @param gone aborted when the client is */
export function disturbUpload({ due }: Injection, body: Body | undefined, headers: Headers, gone: AbortSignal): Body | undefined {
  const fault = findDue(due, 'cut-upload', 'stall-upload');
  return fault === undefined || body === undefined ? body : disturb(streamBody(body), fault, countPassing(fault.failure, headers), gone);
}

/** Other bytes in the place of an MD5. */
const wrongMd5 = Buffer.alloc(16, 0xbd).toString('base64');

function falsify(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, /^(?:content|computed)-md5$/u.test(name) ? wrongMd5 : value]),
  );
}

/** A body that ends its wait when nobody reads it any more, and frees what it is made of. */
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

/** The reply as the client gets it. */
export function disturbReply({ due }: Injection, reply: Reply): Reply {
  const headers = findDue(due, 'wrong-md5') === undefined ? reply.headers : falsify(reply.headers);
  const fault = findDue(due, 'cut', 'stall');
  if (fault === undefined) return { ...reply, headers };
  const abort = new AbortController();
  const body = disturb(reply.body, fault, countPassing(fault.failure, reply.headers), abort.signal);
  return { ...reply, headers, body: withEnd(body, reply.body, abort) };
}
