import type { Socket } from 'node:net';
import type { Headers, HttpResponse } from '../api/message.ts';
import { openConnection, maxIdleMs, type Connection } from './connection.ts';
import { Exchange } from './exchange.ts';
import { toNetworkError } from './network-error.ts';
import { PipelinedExchange } from './pipelined-exchange.ts';
import { PipelinedRequests, type Outcome, type PipelinedRequest } from './pipelined-requests.ts';
import { printFields } from './request-writer.ts';
import type { CreateHeaders, ListedRequest, Outgoing, Sender, SendOptions } from './send.ts';
import { watchClock } from './time-limit.ts';

/** An idle connection. */
interface Idle {
  readonly connection: Connection;
  /** When the service may close it, milliseconds since the epoch. */
  readonly until: number;
}

/** The connections to one host. */
class Pool {
  readonly #url: URL;
  readonly #options: SendOptions;
  readonly #keep: (socket: Socket) => void;
  /** Number of connections: in use, idle, and being opened. */
  #count = 0;
  readonly #idle: Idle[] = [];
  /** Resolves when the connection that is opened in advance is idle. */
  #prepared: Promise<unknown> | undefined;
  /** Requests that wait for a free connection. */
  readonly #waiting: (() => void)[] = [];
  readonly #pipelined: PipelinedRequests;

  /** @param keep called with each socket that was opened */
  constructor(url: URL, options: SendOptions, keep: (socket: Socket) => void) {
    this.#url = url;
    this.#options = options;
    this.#keep = keep;
    this.#pipelined = new PipelinedRequests(this, options.connections);
  }

  send(outgoing: Outgoing): Promise<HttpResponse> {
    const { signal } = outgoing;
    const idle = signal?.aborted === true ? undefined : this.takeIdle();
    return idle ? this.#sendOver(idle, outgoing) : this.waitForOne(signal).then((connection) => this.#sendOver(connection, outgoing));
  }

  sendListed(request: ListedRequest, headers: CreateHeaders): Promise<HttpResponse | undefined> | undefined {
    return this.#pipelined.mayTakeNext() ? this.#pipelined.send(request, headers) : undefined;
  }

  #sendOver(connection: Connection, outgoing: Outgoing): Promise<HttpResponse> {
    connection.socket.ref();
    return new Exchange(connection, outgoing, this.#options.idleTimeout, (idleMs) => this.release(connection, idleMs)).response;
  }

  printFields(headers: Headers): string {
    return printFields({ url: this.#url, headers });
  }

  /** Sends several requests over one connection. */
  sendTogether(connection: Connection, requests: readonly PipelinedRequest[], fields: string, leave: (outcome: Outcome) => void): void {
    connection.socket.ref();
    void new PipelinedExchange(connection, requests, fields, this.#options.idleTimeout, (idleMs, outcome) => {
      this.release(connection, idleMs);
      leave(outcome);
    });
  }

  /** Opens the first connection in advance. */
  prepare(mayBeLong: boolean): void {
    if (this.#count > 0) return;
    this.#prepared = this.#open(mayBeLong).then((connection) => this.#idle.push({ connection, until: Date.now() + maxIdleMs }));
    // The error is reported by the request that uses the connection.
    this.#prepared.catch(() => undefined);
  }

  takeIdle(): Connection | undefined {
    for (let last = this.#idle.pop(); last !== undefined; last = this.#idle.pop()) {
      const { connection, until } = last;
      if (connection.socket.writable && Date.now() < until) return connection;
      connection.socket.destroy();
    }
    return undefined;
  }

  /** Waits for a connection until the signal aborts. */
  waitForOne(signal: AbortSignal | undefined): Promise<Connection> {
    const acquired = this.#acquire().catch((error: unknown) => {
      throw toNetworkError(error, this.#url, true);
    });
    return signal ? abandon(acquired, signal, (unused) => this.release(unused)) : acquired;
  }

  /** @param idleMs milliseconds for which the connection can be reused; 0 if it has been closed */
  release(connection: Connection, idleMs = maxIdleMs): void {
    if (idleMs === 0) return;
    // An idle connection does not keep the process running.
    connection.socket.unref();
    this.#idle.push({ connection, until: Date.now() + idleMs });
    this.#wake();
  }

  /** Returns a connection for one request. A caller that no longer needs it still has to release it. */
  async #acquire(): Promise<Connection> {
    for (;;) {
      const prepared = this.#prepared;
      this.#prepared = undefined;
      if (prepared) await prepared;
      const ready = this.takeIdle();
      if (ready) return ready;
      if (this.#count < this.#options.connections) return await this.#open(true);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  #open(mayBeLong: boolean): Promise<Connection> {
    this.#count += 1;
    const opening = openConnection(this.#url, this.#options, mayBeLong);
    const leave = (): void => {
      this.#count -= 1;
      this.#wake();
    };
    opening.then(({ socket }) => {
      this.#keep(socket);
      socket.once('close', leave);
    }, leave);
    return opening;
  }

  /** Wakes a waiting request when a connection is free or may be opened. */
  #wake(): void {
    this.#waiting.shift()?.();
  }
}

/**
 * Creates a sender over plain sockets, with one request at a time on each, unless requests can be pipelined. It is fast to load, which
 * matters for commands with few requests.
 */
export function createSocketSender(options: SendOptions): Sender {
  watchClock();
  const pools = new Map<string, Pool>();
  const sockets = new Set<Socket>();
  let isClosed = false;

  function keep(socket: Socket): void {
    if (isClosed) socket.destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  }

  function find(url: URL): Pool {
    const { origin } = url;
    const pool = pools.get(origin) ?? new Pool(url, options, keep);
    pools.set(origin, pool);
    return pool;
  }

  return {
    send: (outgoing) => find(outgoing.url).send(outgoing),
    sendListed: (request, headers) => find(request.url).sendListed(request, headers),
    prepare: (url, mayBeLong = false) => find(url).prepare(mayBeLong),
    close: () => {
      isClosed = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Awaits a promise until a signal aborts; a later result is passed to `leave`. */
function abandon<T>(wanted: Promise<T>, signal: AbortSignal, leave: (late: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      reject(signal.reason as Error);
      wanted.then(leave, () => undefined);
    };
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    wanted.finally(() => signal.removeEventListener('abort', stop)).then(resolve, reject);
  });
}
