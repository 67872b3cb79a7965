import type { Socket } from 'node:net';
import type { HttpResponse } from '../api/message.ts';
import { openConnection, maxIdleMs, type Connection } from './connection.ts';
import { startExchange } from './exchange.ts';
import { toNetworkError } from './network-error.ts';
import type { Outgoing, Sender, SendOptions } from './send.ts';

/** An idle connection. */
interface Idle {
  readonly connection: Connection;
  /** When the service may close it, milliseconds since the epoch. */
  readonly until: number;
}

/** The connections to one host. */
interface Pool {
  /** Number of connections: in use, idle, and being opened. */
  count: number;
  readonly idle: Idle[];
  /** A connection that was opened in advance. */
  prepared: Promise<Idle> | undefined;
  /** Requests that wait for a free connection. */
  readonly waiting: (() => void)[];
}

/**
 * Creates a sender over plain sockets, with one request at a time on each. It is fast to load, which matters for commands with few
 * requests.
 */
export function createSocketSender(options: SendOptions): Sender {
  const pools = new Map<string, Pool>();
  const sockets = new Set<Socket>();
  let isClosed = false;

  function find({ origin }: URL): Pool {
    const pool = pools.get(origin) ?? { count: 0, idle: [], prepared: undefined, waiting: [] };
    pools.set(origin, pool);
    return pool;
  }

  /** Wakes a waiting request when a connection is free or may be opened. */
  function wake(pool: Pool): void {
    pool.waiting.shift()?.();
  }

  function open(pool: Pool, url: URL, mayBeLong: boolean): Promise<Connection> {
    pool.count += 1;
    const opening = openConnection(url, options, mayBeLong);
    const leave = (): void => {
      pool.count -= 1;
      wake(pool);
    };
    opening.then(({ socket }) => {
      if (isClosed) socket.destroy();
      sockets.add(socket);
      socket.once('close', () => {
        sockets.delete(socket);
        leave();
      });
    }, leave);
    return opening;
  }

  function release(pool: Pool, connection: Connection, idleMs = maxIdleMs): void {
    // An idle connection does not keep the process running.
    connection.socket.unref();
    pool.idle.push({ connection, until: Date.now() + idleMs });
    wake(pool);
  }

  function takeIdle(pool: Pool): Connection | undefined {
    for (let last = pool.idle.pop(); last !== undefined; last = pool.idle.pop()) {
      const { connection, until } = last;
      if (connection.socket.writable && Date.now() < until) return connection;
      connection.socket.destroy();
    }
    return undefined;
  }

  async function takePrepared(pool: Pool, prepared: Promise<Idle>): Promise<Connection | undefined> {
    pool.prepared = undefined;
    pool.idle.push(await prepared);
    return takeIdle(pool);
  }

  /** Returns a connection for one request. A caller that no longer needs it still has to release it. */
  async function acquire(pool: Pool, url: URL): Promise<Connection> {
    for (;;) {
      const ready = takeIdle(pool) ?? (pool.prepared && (await takePrepared(pool, pool.prepared)));
      if (ready) return ready;
      if (pool.count < options.connections) return await open(pool, url, true);
      await new Promise<void>((resolve) => {
        pool.waiting.push(resolve);
      });
    }
  }

  function waitForOne(pool: Pool, url: URL, signal: AbortSignal | undefined): Promise<Connection> {
    const acquired = acquire(pool, url).catch((error: unknown) => {
      throw toNetworkError(error, url);
    });
    return signal ? abandon(acquired, signal, (unused) => release(pool, unused)) : acquired;
  }

  async function send(outgoing: Outgoing): Promise<HttpResponse> {
    const { url, signal } = outgoing;
    const pool = find(url);
    const connection = (signal?.aborted === true ? undefined : takeIdle(pool)) ?? (await waitForOne(pool, url, signal));
    connection.socket.ref();
    const { response, over } = startExchange(connection, outgoing, options.idleTimeout);
    void over.then((idleMs) => {
      if (idleMs > 0) release(pool, connection, idleMs);
    });
    return await response;
  }

  return {
    send,
    prepare: (url, mayBeLong = false) => {
      const pool = find(url);
      if (pool.count > 0) return;
      pool.prepared = open(pool, url, mayBeLong).then((connection) => ({ connection, until: Date.now() + maxIdleMs }));
      // The error is reported by the request that uses the connection.
      pool.prepared.catch(() => undefined);
    },
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
    const forget = (): void => signal.removeEventListener('abort', stop);
    wanted.then(
      (value) => {
        forget();
        resolve(value);
      },
      (error: Error) => {
        forget();
        reject(error);
      },
    );
  });
}
