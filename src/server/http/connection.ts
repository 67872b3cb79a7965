import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiError } from '../../base/errors.ts';
import type { PooledConnection } from './connection-pool.ts';
import { LimitReached } from '../limit.ts';
import type { SocketError, WriteMalformed } from './malformed.ts';

/** Milliseconds that a client has to read the refusal of something that is not HTTP. */
const lingerTime = 2000;

/** A request and its response, on their way. */
interface Exchange {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  /** Begins to answer. */
  readonly begin: (refusal?: ApiError) => void;
}

/**
 * The requests of one connection. One is answered at a time: a request that was sent before the answer to an earlier one (pipelining)
 * begins when that answer is written. Node.js would begin all of them, and never end those whose turn does not come.
 */
export class HttpConnection {
  readonly pooled: PooledConnection;
  readonly #socket: Socket;
  readonly #mostWaiting: number;
  readonly #writeMalformed: WriteMalformed;
  readonly #waiting: Exchange[] = [];
  #current: Exchange | undefined;
  /** The one that was parsed last; its body may still be on the way when it is answered. */
  #latest: Exchange | undefined;
  /** What could not be parsed behind the requests that wait. */
  #malformed: SocketError | undefined;

  /** @param mostWaiting requests that may wait for the answer to an earlier one */
  constructor(socket: Socket, pooled: PooledConnection, mostWaiting: number, writeMalformed: WriteMalformed) {
    this.#socket = socket;
    this.#writeMalformed = writeMalformed;
    this.pooled = pooled;
    this.#mostWaiting = mostWaiting;
  }

  /** Answers a request when its turn comes. */
  add(exchange: Exchange): void {
    this.#latest = exchange;
    if (this.#current === undefined) {
      this.#begin(exchange);
      return;
    }
    // What was read together with this request is parsed in any case; nothing more is read.
    this.#socket.pause();
    const { length } = this.#waiting;
    if (length < this.#mostWaiting) this.#waiting.push(exchange);
    if (length !== this.#mostWaiting) return;
    // This one is refused in its turn, which ends the connection; those behind it are dropped.
    const message = `at most ${this.#mostWaiting} requests may wait for the answer to an earlier one of their connection`;
    const refusal = new LimitReached(400, 'BadRequest', message, 'pipelinedRequests');
    this.#waiting.push({ ...exchange, begin: () => exchange.begin(refusal) });
  }

  /** Answers what is not HTTP, or too slow or too large to be, as far as the socket still takes an answer. */
  refuse(error: SocketError): void {
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
    // A request whose body is malformed gets the refusal for its answer.
    if (isOfBody) this.#waiting.pop();
  }

  /** Answers what is no request, or the malformed body of one, and ends the connection. */
  async #endMalformed(error: SocketError, exchange?: Exchange): Promise<void> {
    const text = await this.#writeMalformed(error);
    // Another answer would stand in the middle of the one under way, or be taken for that of another request.
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
    const next = this.#waiting.shift();
    if (this.#socket.destroyed || next === undefined) {
      this.#waiting.length = 0;
      if (this.#malformed !== undefined) void this.#endMalformed(this.#malformed);
      return;
    }
    this.#begin(next);
    // Its body, and further requests.
    if (this.#waiting.length === 0) this.#socket.resume();
  }
}

/** Writes the last bytes of a connection. A client that does not end its side does not keep the connection. */
function endSoon(socket: Socket, text: string): void {
  const timer = setTimeout(() => socket.destroy(), lingerTime).unref();
  socket.once('close', () => clearTimeout(timer)).end(text);
}
