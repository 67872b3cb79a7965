import { createServer, request, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRandom } from './random.ts';

/** What a proxy does to an exchange. */
export type Fault =
  | 'none'
  /** The connection ends in mid-body on the way to the service, or on the way back. */
  | 'cut up'
  | 'cut down'
  /** One bit of a body changes. */
  | 'flip up'
  | 'flip down'
  /** The service seems to be busy. */
  | 'busy'
  /** Nothing moves any more. */
  | 'stall up'
  | 'stall down'
  /** The connection ends after the head of the response, or before it although the service has done its work. */
  | 'head only'
  | 'no response';

/** A proxy between a client and a service, which damages what goes through it. */
export interface FaultProxy {
  readonly url: string;
  /** How often each fault happened. */
  readonly counts: ReadonlyMap<Fault, number>;
  /** Bytes of bodies that went through, to the service and back. */
  readonly moved: { up: number; down: number };
  close(): Promise<void>;
}

/** Passes pieces on until `limit` bytes have gone through. */
class Tap {
  passed = 0;
  readonly limit: number;
  constructor(limit: number) {
    this.limit = limit;
  }

  take(piece: Buffer): { head: Buffer; isOver: boolean } {
    const room = Math.max(0, this.limit - this.passed);
    this.passed += piece.length;
    return { head: piece.subarray(0, room), isOver: piece.length >= room };
  }

  flip(piece: Buffer): Buffer {
    const at = this.limit - this.passed;
    this.passed += piece.length;
    if (at < 0 || at >= piece.length) return piece;
    const copy = Buffer.from(piece);
    copy[at] = (copy[at] ?? 0) ^ 0x10;
    return copy;
  }
}

function lengthOf(message: IncomingMessage, random: () => number): number {
  const length = Number(message.headers['content-length'] ?? 0);
  return length > 0 ? Math.floor(random() * length) : Math.floor(random() * 100_000);
}

/** Whether a response's body has a checksum to find a changed bit by. */
function isChecked(reply: IncomingMessage): boolean {
  return reply.headers['content-md5'] !== undefined || reply.statusCode === 206;
}

/** Whether a request's body has a checksum to find a changed bit by: objects and parts, whose MD5 is in the response; JSON has none. */
function isStored({ method, headers }: IncomingMessage): boolean {
  return method === 'PUT' && headers['content-type']?.startsWith('application/json') !== true;
}

/**
 * Starts a proxy on the loopback in front of a service that speaks plain HTTP.
 * @param choose the fault of the next exchange
 */
export async function startFaultProxy(
  target: string,
  choose: (method: string, random: () => number, target: string) => Fault,
  seed: number,
): Promise<FaultProxy> {
  const random = createRandom(seed);
  const { hostname, port } = new URL(target);
  const counts = new Map<Fault, number>();
  const moved = { up: 0, down: 0 };

  function forwardBody(incoming: IncomingMessage, upstream: ClientRequest, response: ServerResponse, fault: Fault): void {
    const tap = new Tap(lengthOf(incoming, random));
    let isHeld = false;
    incoming.on('data', (piece: Buffer) => {
      moved.up += piece.length;
      if (fault === 'flip up' && isStored(incoming)) upstream.write(tap.flip(piece));
      else if (fault === 'cut up' || fault === 'stall up') {
        const { head, isOver } = tap.take(piece);
        upstream.write(head);
        if (!isOver) return;
        isHeld = true;
        incoming.pause();
        if (fault === 'stall up') return;
        upstream.destroy();
        response.destroy();
      } else if (!upstream.write(piece)) {
        incoming.pause();
        upstream.once('drain', () => incoming.resume());
      }
    });
    // A body that has arrived in one piece ends although it is paused; its first bytes must not pass for all of it.
    incoming.on('end', () => isHeld || upstream.end());
  }

  function forwardResponse(reply: IncomingMessage, response: ServerResponse, fault: Fault): void {
    if (fault === 'no response') {
      reply.resume();
      response.destroy();
      return;
    }
    response.writeHead(reply.statusCode ?? 0, reply.rawHeaders);
    response.flushHeaders();
    if (fault === 'head only') {
      reply.destroy();
      setImmediate(() => response.destroy());
      return;
    }
    const tap = new Tap(lengthOf(reply, random));
    let isHeld = false;
    reply.on('data', (piece: Buffer) => {
      moved.down += piece.length;
      if (fault === 'flip down' && isChecked(reply)) response.write(tap.flip(piece));
      else if (fault === 'cut down' || fault === 'stall down') {
        const { head, isOver } = tap.take(piece);
        response.write(head);
        if (!isOver) return;
        isHeld = true;
        reply.pause();
        if (fault === 'cut down') setImmediate(() => response.destroy());
      } else if (!response.write(piece)) {
        reply.pause();
        response.once('drain', () => reply.resume());
      }
    });
    reply.on('end', () => isHeld || response.end());
    reply.on('error', () => response.destroy());
  }

  const server = createServer({ keepAlive: true }, (incoming, response) => {
    const fault = choose(incoming.method ?? '', random, incoming.url ?? '');
    counts.set(fault, (counts.get(fault) ?? 0) + 1);
    incoming.on('error', () => undefined);
    response.on('error', () => undefined);
    if (fault === 'busy') {
      const status = random() < 0.5 ? 503 : 420;
      const body = JSON.stringify({ code: status === 503 ? 'ServiceUnavailable' : 'RequestThrottled', message: 'later' });
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length, connection: 'close' });
      response.end(body);
      incoming.resume();
      return;
    }
    const upstream = request({
      hostname,
      port,
      method: incoming.method,
      path: incoming.url,
      headers: incoming.rawHeaders as never,
      agent: false,
    });
    upstream.on('response', (reply) => forwardResponse(reply, response, fault));
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    forwardBody(incoming, upstream, response, fault);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    moved,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
