import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiError } from '../../base/errors.ts';
import type { PooledConnection } from './connection-pool.ts';
import { LimitReached } from '../limit.ts';
import type { SocketError, WriteMalformed } from './malformed.ts';

/** Milliseconds that a client has to read the error response to something that is not HTTP. */
const lingerTime = 2000;

/**
 * Maximum number of requests that are dropped before the connection is destroyed. When a connection ends, Node.js creates an error for each
 * request that it has parsed, which takes 50 µs: 20,000 in one write held the service for a second.
 */
const mostDropped = 1000;

/** A request in progress and its response. */
interface Exchange {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  /** Starts handling the request; with `refusal`, responds with that error. */
  readonly begin: (refusal?: ApiError) => void;
}

/**
 * The requests of one connection, handled one at a time: a request that was sent before the response to an earlier one (pipelining) starts
 * when that response has been written. Node.js would start all of them, and never end those whose turn does not come.
 */
export class HttpConnection {
  readonly pooled: PooledConnection;
  readonly #socket: Socket;
  readonly #mostWaiting: number;
  readonly #writeMalformed: WriteMalformed;
  readonly #waiting: Exchange[] = [];
  #current: Exchange | undefined;
  /** The request that was parsed last; its body may still be arriving while it is handled. */
  #latest: Exchange | undefined;
  #dropped = 0;
  /** The parse error that follows the waiting requests. */
  #malformed: SocketError | undefined;

  /** @param mostWaiting maximum number of requests waiting for the response to an earlier one */
  constructor(socket: Socket, pooled: PooledConnection, mostWaiting: number, writeMalformed: WriteMalformed) {
    this.#socket = socket;
    this.#writeMalformed = writeMalformed;
    this.pooled = pooled;
    this.#mostWaiting = mostWaiting;
  }

  /** Handles a request when its turn comes. */
  add(exchange: Exchange): void {
    this.#latest = exchange;
    if (this.#current === undefined) {
      this.#begin(exchange);
      return;
    }
    // Everything read together with this request is still parsed; nothing more is read.
    this.#socket.pause();
    const { length } = this.#waiting;
    if (length < this.#mostWaiting) this.#waiting.push(exchange);
    if (length > this.#mostWaiting) {
      this.#dropped += 1;
      if (this.#dropped > mostDropped) this.#socket.destroy();
    }
    if (length !== this.#mostWaiting) return;
    // This request gets an error response in its turn, which ends the connection; those after it are dropped.
    const message = `at most ${this.#mostWaiting} requests may wait for an earlier response on the same connection`;
    const refusal = new LimitReached(400, 'BadRequest', message, 'pipelinedRequests');
    this.#waiting.push({ ...exchange, begin: () => exchange.begin(refusal) });
  }

  /** Responds to something that is not HTTP, or that is too slow or too large, if the socket is still writable. */
  endOnError(error: SocketError): void {
    if (!this.#socket.writable || error.code === 'ECONNRESET') {
      this.#socket.destroy();
      return;
    }
    const latest = this.#latest;
    const isOfBody = latest?.incoming.complete === false;
    if (this.#current === undefined || (isOfBody && latest === this.#current)) {
      void this.#endMalformed(error, isOfBody ? latest : undefined);
      return;
    }
    this.#malformed = error;
    // A request whose body is malformed gets the error as its response.
    if (isOfBody) this.#waiting.pop();
  }

  /** Responds to something that is not a request, or to the malformed body of a request, and ends the connection. */
  async #endMalformed(error: SocketError, exchange?: Exchange): Promise<void> {
    // A body that the client broke off is no malformed request: its handler reports it.
    const isBrokenOff = exchange !== undefined && error.code === 'HPE_INVALID_EOF_STATE';
    const text = isBrokenOff ? '' : await this.#writeMalformed(error);
    // A second response would appear in the middle of the one in progress, or be taken for the response to another request.
    endSoon(this.#socket, exchange?.response.headersSent === true ? '' : text);
  }

  #begin(exchange: Exchange): void {
    this.#current = exchange;
    this.pooled.busy = true;
    exchange.response.once('close', () => this.#next());
    exchange.begin();
  }

  #next(): void {
    this.#current = undefined;
    this.pooled.busy = false;
    // An idle connection keeps nothing of its last request.
    if (this.#latest?.incoming.complete === true && this.#waiting.length === 0) this.#latest = undefined;
    const next = this.#waiting.shift();
    if (this.#socket.destroyed || next === undefined) {
      this.#waiting.length = 0;
      if (this.#malformed !== undefined) void this.#endMalformed(this.#malformed);
      return;
    }
    this.#begin(next);
    // Reads its body and further requests.
    if (this.#waiting.length === 0) this.#socket.resume();
  }
}

/** Writes the last bytes of a connection, and closes the connection even if the client does not end its side. */
function endSoon(socket: Socket, text: string): void {
  const timer = setTimeout(() => socket.destroy(), lingerTime).unref();
  socket.once('close', () => clearTimeout(timer)).end(text);
}
