import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ByteStream, Headers, Request } from '../../api/message.ts';
import { ApiError } from '../../base/errors.ts';
import { LimitReached, limitOf } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';

/** Milliseconds that a body may pause. */
const idleLimit = 45_000;

/** Milliseconds of waiting over which the rate of a body is measured. */
const rateTime = 60_000;

/** Maximum bytes and milliseconds for draining an unwanted body, so that the client can read the response. */
const drainLimit = { bytes: 64 * 1024 * 1024, time: 10_000 };

/** An unread body of up to this many bytes is drained to keep the connection; after a larger one, the connection is closed. */
const smallBody = 64 * 1024;

/** Joins repeated header fields into one string each. */
function joinHeaders(incoming: IncomingMessage): Headers {
  const joined: Record<string, string> = Object.create(null) as Record<string, string>;
  const { headers } = incoming;
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) joined[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return joined;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** The next chunk of a body. @throws {ApiError} 408 when none arrives in time. */
function readNext(chunks: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  return new Promise((resolve, reject) => {
    const refuse = (): void => reject(new ApiError(408, 'UploadTimeout', `no byte of the body arrived for ${idleLimit / 1000} seconds`));
    const timer = setTimeout(refuse, idleLimit);
    chunks
      .next()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/**
 * The error for a client that closed the connection before the body of its request was complete. Nobody gets it as a response; in the log and
 * in metrics its status, which is nginx's, distinguishes the request from those that are wrong.
 */
export function createGoneError(): ApiError {
  return new ApiError(499, 'ClientClosedRequest', 'the client closed the connection before the body was complete');
}

/** The body as it arrives; requesting its first chunk sends `100 Continue` if the client waits for it. */
async function* readBody(
  incoming: IncomingMessage,
  { proceed, onBytes }: { proceed: () => void; onBytes: (size: number) => void },
  slowest: number,
): ByteStream & AsyncGenerator<Uint8Array> {
  proceed();
  const chunks = incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
  const checkRate = createRateCheck(slowest);
  for (;;) {
    const asked = performance.now();
    const next = await readNext(chunks);
    if (next.done === true) break;
    onBytes(next.value.length);
    checkRate(next.value.length, performance.now() - asked);
    yield next.value;
  }
  if (!incoming.complete) throw createGoneError();
}

/**
 * Creates a function that receives the size of each chunk and the milliseconds spent waiting for it; time spent processing does not count.
 * @param slowest minimum rate in bytes per second
 */
function createRateCheck(slowest: number): (size: number, waited: number) => void {
  let [received, elapsed] = [0, 0];
  return (size, waited) => {
    received += size;
    elapsed += waited;
    if (elapsed < rateTime) return;
    if (received < (slowest * elapsed) / 1000) {
      const message = `the body arrived too slowly: ${received} bytes in ${Math.round(elapsed / 1000)} seconds, less than ${slowest} per second`;
      throw new LimitReached(408, 'UploadTimeout', message, 'bodyRate');
    }
    [received, elapsed] = [0, 0];
  };
}

/** A request from a socket in the form that the services use, and the state of its body. */
export interface Incoming {
  readonly request: Request;
  /** Bytes of the body read so far. */
  readonly received: () => number;
  /** True while the client waits for `100 Continue` before it sends the body. */
  readonly isWaiting: () => boolean;
  /** True if a response sent now would precede the end of the body, so that the connection cannot serve another request. */
  readonly isEarly: () => boolean;
  /** Reads and discards the rest of the body. */
  readonly drain: () => Promise<void>;
}

/** Reads a request from a socket. `expects`: the client wants `100 Continue` before it sends the body. */
export function readRequest(
  incoming: IncomingMessage,
  response: ServerResponse,
  expects: boolean,
  settings: ServiceSettings = {},
): Incoming {
  const { method = 'GET', url: target = '/' } = incoming;
  const headers = joinHeaders(incoming);
  const drain = (): Promise<void> => drainBody(incoming);
  if (!hasBody(incoming))
    return { request: { method, target, headers }, received: () => 0, isWaiting: () => false, isEarly: () => false, drain };
  let [waiting, received] = [expects, 0];
  const onBytes = (size: number): void => void (received += size);
  const proceed = (): void => {
    if (waiting) response.writeContinue();
    waiting = false;
  };
  const isLarge = Number(headers['content-length'] ?? Infinity) > smallBody;
  return {
    request: { method, target, headers, body: readBody(incoming, { proceed, onBytes }, limitOf(settings, 'bodyRate')) },
    received: () => received,
    isWaiting: () => waiting,
    isEarly: () => !incoming.complete && (waiting || isLarge),
    drain,
  };
}

/** Reads and discards the rest of a body, within limits: a client that is still sending cannot read the response if it is cut off. */
async function drainBody(incoming: IncomingMessage): Promise<void> {
  if (incoming.complete || incoming.destroyed) return;
  let size = 0;
  const ended = new Promise<void>((resolve) => {
    incoming.on('data', (chunk: Uint8Array) => {
      size += chunk.length;
      if (size > drainLimit.bytes) resolve();
    });
    incoming
      .once('end', resolve)
      .once('close', resolve)
      .once('error', () => resolve());
  });
  const abort = new AbortController();
  await Promise.race([ended, sleep(drainLimit.time, undefined, { signal: abort.signal }).catch(() => undefined)]);
  abort.abort();
}
