import type { Socket } from 'node:net';
import type { Body } from '../api/message.ts';
import { NetworkError, UsageError } from '../base/errors.ts';
import type { Outgoing } from './send.ts';
import { isFieldValue, isToken } from './syntax.ts';
import { readLostTime } from './time-limit.ts';

/** Bodies up to this size are sent in one write with the headers, bytes. */
const smallBody = 64 * 1024;

/** Maximum bytes per write: TLS does not report how much of a write is still unsent. */
const largestWrite = 128 * 1024;

/** How the end of the request body is determined. */
type Framing = 'none' | 'length' | 'chunked';

function chooseFraming({ headers, body }: Pick<Outgoing, 'headers' | 'body'>): Framing {
  if (body === undefined) return 'none';
  return body instanceof Uint8Array || headers['content-length'] !== undefined ? 'length' : 'chunked';
}

/** The request line and headers, in Latin-1. @throws {UsageError} for characters that would corrupt the request */
export function printHeaders(outgoing: Outgoing): string {
  const { method, url } = outgoing;
  if (!isToken(method)) throw new UsageError(`${JSON.stringify(method)} is not an HTTP method`);
  return printLine(method, `${url.pathname}${url.search}`) + printFields(outgoing);
}

export function printLine(method: string, target: string): string {
  return `${method} ${target} HTTP/1.1\r\n`;
}

/** The headers with the empty line after them, in Latin-1. @throws {UsageError} for characters that would corrupt the request */
export function printFields(outgoing: Pick<Outgoing, 'url' | 'headers' | 'body'>): string {
  const { url, headers, body } = outgoing;
  const framing = chooseFraming(outgoing);
  const given: Record<string, string> = { host: url.host };
  for (const [name, value] of Object.entries(headers)) given[name.toLowerCase()] = value;
  given['connection'] = 'keep-alive';
  // Only one of the two headers may be sent.
  delete given[framing === 'chunked' ? 'content-length' : 'transfer-encoding'];
  if (framing === 'chunked') given['transfer-encoding'] = 'chunked';
  if (body instanceof Uint8Array) given['content-length'] = String(body.length);
  let text = '';
  for (const [name, value] of Object.entries(given)) {
    if (!isToken(name) || !isFieldValue(value)) {
      throw new UsageError(`the header ${JSON.stringify(name)} contains a character that is not allowed in headers`);
    }
    text += `${name}: ${value}\r\n`;
  }
  return `${text}\r\n`;
}

/** What a writer needs from its exchange. */
interface WriterOptions {
  readonly socket: Socket;
  readonly idleTimeout: number;
  /** True if nothing more is to be sent: the exchange is over, or the service has refused the request. */
  readonly isEnded: () => boolean;
  /** Called when the whole request has been written; possibly more than once. */
  readonly markSent: () => void;
  /** Called when the connection has accepted no bytes for too long. */
  readonly failIdle: () => void;
}

/** Sends one request with a body. */
export interface RequestWriter {
  /** @throws the error of the body's source, and {UsageError} before anything is sent */
  send(outgoing: Outgoing, body: Body): Promise<void>;
  /** Makes a waiting write check again whether to continue. */
  wake(): void;
}

/** Creates a writer with back-pressure, which stops when the service refuses the request before its end. */
export function createRequestWriter({ socket, idleTimeout, isEnded, markSent, failIdle }: WriterOptions): RequestWriter {
  let wakeWriter: (() => void) | undefined;

  /** Waits until the connection accepts more bytes, or the exchange has ended. */
  function drain(): Promise<void> {
    return new Promise((resolve) => {
      let lost = readLostTime();
      const check = (): void => {
        const before = lost;
        lost = readLostTime();
        if (lost === before) return failIdle();
        socket.setTimeout(idleTimeout);
      };
      const go = (): void => {
        socket.setTimeout(0).off('timeout', check).off('drain', go).off('close', go);
        wakeWriter = undefined;
        resolve();
      };
      socket.setTimeout(idleTimeout).on('timeout', check);
      socket.on('drain', go).on('close', go);
      wakeWriter = go;
    });
  }

  async function write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && !isEnded(); at += largestWrite) {
      if (!socket.write(bytes.subarray(at, at + largestWrite)) && !socket.destroyed) await drain();
    }
  }

  async function writeStream(stream: AsyncIterable<Uint8Array>, framing: Framing, length: number): Promise<void> {
    let missing = length;
    for await (const chunk of stream) {
      if (isEnded()) return;
      if (chunk.length === 0) continue;
      missing -= chunk.length;
      if (framing === 'length' && missing < 0) throw new NetworkError('the body is longer than its Content-Length');
      if (framing === 'chunked') await write(Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]));
      else await write(chunk);
      // The service may respond, and close, before the source reports its end.
      if (framing === 'length' && missing === 0) markSent();
    }
    if (isEnded()) return;
    if (framing === 'length' && missing > 0) throw new NetworkError('the body is shorter than its Content-Length');
    if (framing === 'chunked') await write(Buffer.from('0\r\n\r\n'));
  }

  async function send(outgoing: Outgoing, body: Body): Promise<void> {
    const start = Buffer.from(printHeaders(outgoing), 'latin1');
    if (body instanceof Uint8Array && body.length <= smallBody) await write(Buffer.concat([start, body]));
    else {
      await write(start);
      if (body instanceof Uint8Array) await write(body);
      else await writeStream(body, chooseFraming(outgoing), Number(outgoing.headers['content-length'] ?? 0));
    }
    markSent();
  }

  return { send, wake: () => wakeWriter?.() };
}
