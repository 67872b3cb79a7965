import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ByteStream, Headers, Request } from '../api/message.ts';
import { ApiError } from '../errors.ts';

/** Milliseconds a body may pause. */
const idleLimit = 45_000;

/** Bytes and milliseconds that are spent on the rest of a body nobody wants, so that the client gets to read the reply. */
const drainLimit = { bytes: 64 * 1024 * 1024, time: 10_000 };

/** A body of this length is read to its end rather than have its connection closed. */
const smallBody = 64 * 1024;

/** Header fields as one text each. */
function joinHeaders(incoming: IncomingMessage): Headers {
  const present = Object.entries(incoming.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const],
  );
  return Object.fromEntries(present);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** The next piece of a body. @throws {ApiError} 408 when none comes in time. */
function readNext(pieces: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  return new Promise((resolve, reject) => {
    const refuse = (): void => reject(new ApiError(408, 'UploadTimeout', `no byte of the body came for ${idleLimit / 1000} seconds`));
    const timer = setTimeout(refuse, idleLimit);
    pieces
      .next()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/** The body as it arrives; asking for its first piece tells a client that waits for it to go on. */
async function* readBody(incoming: IncomingMessage, proceed: () => void): ByteStream & AsyncGenerator<Uint8Array> {
  proceed();
  const pieces = incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
  for (let next = await readNext(pieces); next.done !== true; next = await readNext(pieces)) yield next.value;
  if (!incoming.complete) throw new ApiError(400, 'BadRequest', 'the connection ended before the body did');
}

/** A request from a socket as the services take it, and where its body is. */
export interface Incoming {
  readonly request: Request;
  /** Whether the client still waits for `100 Continue` with the body. */
  readonly isWaiting: () => boolean;
  /** Whether a reply now comes before the body has, so that the connection cannot serve another request. */
  readonly isEarly: () => boolean;
}

/** Takes a request from a socket. `expects`: the client wants `100 Continue` before it sends the body. */
export function readRequest(incoming: IncomingMessage, response: ServerResponse, expects: boolean): Incoming {
  const { method = 'GET', url: target = '/' } = incoming;
  const headers = joinHeaders(incoming);
  if (!hasBody(incoming)) return { request: { method, target, headers }, isWaiting: () => false, isEarly: () => false };
  let waiting = expects;
  const proceed = (): void => {
    if (waiting) response.writeContinue();
    waiting = false;
  };
  const isLarge = Number(headers['content-length'] ?? Infinity) > smallBody;
  return {
    request: { method, target, headers, body: readBody(incoming, proceed) },
    isWaiting: () => waiting,
    isEarly: () => !incoming.complete && (waiting || isLarge),
  };
}

/** Reads and drops what is left of a body, within limits; a client that is still sending cannot read the reply if it is cut off. */
export async function drainBody(incoming: IncomingMessage): Promise<void> {
  if (incoming.complete || incoming.destroyed) return;
  let size = 0;
  const ended = new Promise<void>((resolve) => {
    incoming.on('data', (piece: Uint8Array) => {
      size += piece.length;
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
