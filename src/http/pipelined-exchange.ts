import { WholeBody } from '../api/message.ts';
import { ignoreAbort, stopOnAbort } from './abort.ts';
import type { Connection, ConnectionUser } from './connection.ts';
import { readIdleMs } from './exchange.ts';
import { createFailure } from './network-error.ts';
import type { Outcome, PipelinedRequest } from './pipelined-requests.ts';
import { printLine } from './request-writer.ts';
import { ResponseParser, type ResponseHead } from './response-parser.ts';

/** Milliseconds without a byte after which requests are no longer sent together; less with a short idle timeout. */
const pipelineTimeout = 2000;

/** Milliseconds that this process has had nothing to do. */
function readWaited(): number {
  return performance.eventLoopUtilization().idle;
}

/**
 * Several requests that are written together to one connection, and their responses, one after another (pipelining; RFC 9112, section
 * 9.3.2).
 *
 * Only their order tells which response belongs to which request: one too many or too few, from a proxy that does not support pipelining,
 * would give every later file the content of another. A response is therefore only taken if it is the object that the listing names at
 * this path; no two requests of an exchange have the same etag. With the first response that is not, be it an error, and with any other
 * failure, the connection is destroyed, and the requests without a response are handed back, to be sent one by one. So they are after a
 * short silence: one request that takes long would hold up all those behind it, and a few would look like a silent service.
 */
export class PipelinedExchange implements ConnectionUser {
  readonly #connection: Connection;
  readonly #requests: readonly PipelinedRequest[];
  readonly #timeout: number;
  readonly #leave: (idleMs: number, outcome: Outcome) => void;
  readonly #signal: AbortSignal | undefined;
  /** Number of responses that have arrived. */
  #arrived = 0;
  /** Milliseconds that this process had waited when the first response was complete. */
  #waitedBefore = 0;
  /** Parses the next response; absent before its first byte. */
  #parser: ResponseParser | undefined;
  #head: ResponseHead | undefined;
  #content = Buffer.alloc(0);
  /** Number of bytes in `#content`. */
  #filled = 0;
  /** Bytes after the response that was parsed last. */
  #rest: Uint8Array | undefined;
  #isOver = false;

  /**
   * Sends the requests.
   * @param requests with the same signal, and with different etags
   * @param fields the headers of each, with the empty line after them
   * @param leave called when the exchange is over, with the milliseconds for which the connection can be reused; 0: not at all
   */
  constructor(
    connection: Connection,
    requests: readonly PipelinedRequest[],
    fields: string,
    idleTimeout: number,
    leave: (idleMs: number, outcome: Outcome) => void,
  ) {
    this.#connection = connection;
    this.#requests = requests;
    this.#timeout = Math.min(pipelineTimeout, idleTimeout / 4);
    this.#leave = leave;
    this.#signal = requests[0]?.request.signal;
    connection.assign(this);
    // While the requests were signed, the service may have closed the connection, of which nobody was told.
    if (this.#signal?.aborted === true || !connection.socket.writable) {
      this.#stop();
      return;
    }
    if (this.#signal) stopOnAbort(this.#signal, this.#stop);
    try {
      connection.socket.write(requests.map(({ request }) => printLine('GET', request.target) + fields).join(''), 'latin1');
      connection.expectResponse(this.#timeout);
    } catch {
      this.#end(0);
    }
  }

  receive(bytes: Uint8Array): boolean {
    try {
      for (let next: Uint8Array | undefined = bytes; next !== undefined && next.length > 0 && !this.#isOver; next = this.#rest) {
        this.#rest = undefined;
        this.#parser ??= this.#createParser();
        this.#parser.push(next);
      }
    } catch {
      this.#end(0);
    }
    return true;
  }

  #createParser(): ResponseParser {
    return new ResponseParser('GET', {
      head: (head) => this.#beginResponse(head),
      body: (bytes) => this.#addContent(bytes),
      end: (rest) => this.#completeResponse(rest),
    });
  }

  /** @throws an error for a response that is not the object of the listing */
  #beginResponse(head: ResponseHead): void {
    const { etag, size } = this.#requests[this.#arrived]?.request ?? {};
    if (head.status !== 200 || head.headers['etag'] !== etag || head.length === undefined || head.length !== size)
      throw createFailure('EPROTO', 'the response is not the object that was requested');
    this.#head = head;
    this.#content = Buffer.allocUnsafeSlow(head.length);
    this.#filled = 0;
    this.#connection.expectResponse(this.#timeout);
  }

  #addContent(bytes: Uint8Array): void {
    this.#content.set(bytes, this.#filled);
    this.#filled += bytes.length;
    this.#connection.expectResponse(this.#timeout);
  }

  #completeResponse(rest: Uint8Array): void {
    const head = this.#head;
    if (head === undefined) return;
    this.#requests[this.#arrived]?.settle({ status: head.status, headers: head.headers, body: new WholeBody(this.#content) });
    if (this.#arrived === 0) this.#waitedBefore = readWaited();
    this.#arrived += 1;
    this.#parser = undefined;
    this.#rest = rest;
    if (this.#arrived < this.#requests.length) return;
    this.#end(rest.length === 0 && head.keepsAlive ? readIdleMs(head) : 0);
  }

  #end(idleMs: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connection.assign(undefined);
    if (this.#signal) ignoreAbort(this.#signal, this.#stop);
    if (idleMs === 0) this.#connection.socket.destroy();
    const waited = this.#arrived > 1 ? (readWaited() - this.#waitedBefore) / (this.#arrived - 1) : undefined;
    this.#leave(idleMs, { unanswered: this.#requests.slice(this.#arrived), waited });
  }

  readonly #stop = (): void => this.#end(0);

  expire(): void {
    this.#end(0);
  }

  fail(): void {
    this.#end(0);
  }

  finish(): void {
    this.#end(0);
  }

  close(): void {
    this.#end(0);
  }
}
