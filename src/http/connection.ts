import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectSecure, type ConnectionOptions } from 'node:tls';
import { locate, nameServer, openThrough, waitUntilOpen } from './proxy.ts';
import type { Proxy, SendOptions } from './send.ts';
import { TimeLimit } from './time-limit.ts';

/** Milliseconds after which the service may close an idle connection. */
export const maxIdleMs = 4000;

/** Milliseconds after which a TLS session that is still valid is replaced by a newer one that the service offers. */
const renewal = 60_000;

/** Maximum bytes per read where bytes bypass the stream. */
const readSize = 64 * 1024;

/** What uses a connection: one exchange at a time. */
export interface ConnectionUser {
  /** Receives bytes; returns false to apply back-pressure. */
  receive(bytes: Uint8Array): boolean;
  /** The connection has failed. */
  fail(error: unknown): void;
  /** The service has closed its side. */
  finish(): void;
  /** The connection has closed. */
  close(): void;
  /** The time is up in which a response was to begin. */
  expire(): void;
}

/** A connection to a service, ready for requests. */
export class Connection {
  readonly socket: Socket;
  /** True when the bytes that a user receives are only valid until it returns. */
  readonly isShared: boolean;
  #user: ConnectionUser | undefined;
  /** Kept for all requests: started again by each, and never stopped, because the user knows whether it still waits. */
  #limit: TimeLimit | undefined;

  /** Listens once for all requests: adding and removing listeners for each costs more than parsing its response. */
  constructor(socket: Socket, isShared: boolean) {
    this.socket = socket;
    this.isShared = isShared;
    socket
      .on('error', (error) => this.#user?.fail(error))
      .on('end', () => this.#user?.finish())
      .on('close', () => {
        this.#limit?.end();
        this.#user?.close();
      });
  }

  /** Sets who receives all that follows. Bytes without a user are unexpected and end the connection. */
  assign(user: ConnectionUser | undefined): void {
    this.#user = user;
  }

  /** Calls `expire` after this many milliseconds, unless it is called again. */
  expectResponse(milliseconds: number): void {
    if (this.#limit?.milliseconds === milliseconds) {
      this.#limit.restart();
      return;
    }
    this.#limit?.end();
    // The socket keeps the process running while a response is awaited.
    this.#limit = new TimeLimit(milliseconds, () => this.#user?.expire()).unref();
  }

  /** Passes bytes on; returns false to apply back-pressure. */
  receive(bytes: Uint8Array): boolean {
    if (this.#user !== undefined) return this.#user.receive(bytes);
    this.socket.destroy();
    return false;
  }
}

/**
 * The loopback address, for resumed sessions: resolving the name `localhost`, and finding out that it is not an address, takes a third of
 * the time in which Node.js starts.
 */
const home = { name: 'localhost', address: '127.0.0.1' };

/**
 * Options that connect to localhost without resolving the name. A session is bound to the host name that it was created with, so the host
 * cannot be replaced by the address. Passing a socket that exists already is the fastest way, but then the bytes cannot bypass the stream,
 * which only pays for a long body.
 */
function resolveLocalhost(port: number, mayBeLong: boolean): ConnectionOptions & { family?: number } {
  if (!mayBeLong) return { socket: connectPlain({ host: home.address, port }) };
  return { family: 4, lookup: (_name, _options, give) => queueMicrotask(() => give(null, home.address, 4)) };
}

/** Wraps a socket that exists already: its bytes arrive through its stream. */
function tapStream(socket: Socket): Connection {
  const connection = new Connection(socket, false);
  socket.on('data', (bytes: Buffer) => {
    if (!connection.receive(bytes)) socket.pause();
  });
  return connection;
}

/**
 * Opens a connection whose bytes bypass the stream, where Node.js supports that: this takes a third of the time of a stream with chunks of
 * 16 KiB.
 */
function openTapped<O extends object>(options: O, connect: (options: O) => Socket): Connection {
  // Node.js ignores `onread` for a socket that exists already.
  if ('socket' in options) return tapStream(connect(options));
  const buffer = Buffer.allocUnsafeSlow(readSize);
  const callback = (length: number): boolean => connection.receive(buffer.subarray(0, length));
  const connection = new Connection(connect({ ...options, onread: { buffer, callback } }), true);
  return connection;
}

/** Opens a connection through a proxy. Its bytes arrive through its stream, because the tunnel exists before TLS starts. */
async function openProxied(proxy: Proxy, url: URL, options: SendOptions): Promise<Connection> {
  const socket = await openThrough(proxy, url, options);
  const connection = tapStream(socket);
  socket.setNoDelay(true);
  socket.resume();
  return connection;
}

/**
 * Opens a connection, for https with TLS and a verified certificate. When a session is resumed, no certificate authority is loaded: either
 * the service proves that it is the one that was verified when the session was created, or the connection fails.
 */
async function open(url: URL, { ca, insecure, connectTimeout }: SendOptions, mayBeLong: boolean, session?: Buffer): Promise<Connection> {
  const { host, port, isSecure } = locate(url);
  const isLoopback = session !== undefined && url.hostname === home.name;
  const trust = { rejectUnauthorized: !insecure, ...(session ? { session, ca: [] } : ca !== undefined && { ca }) };
  const secure = {
    host,
    port,
    servername: isLoopback ? '' : nameServer(host),
    ...trust,
    ...(isLoopback && resolveLocalhost(port, mayBeLong)),
  };
  const connection = isSecure
    ? openTapped({ ...secure, ALPNProtocols: ['http/1.1'] }, connectSecure)
    : openTapped({ host, port }, (options) => connectPlain(options));
  connection.socket.setNoDelay(true);
  await waitUntilOpen(connection.socket, isSecure ? 'secureConnect' : 'connect', connectTimeout);
  // The end of a socket is only reported while it is being read.
  connection.socket.resume();
  return connection;
}

/**
 * Ignores failures to resume a session, after which a full handshake follows: a service that has forgotten the session sends its
 * certificate, which nothing verifies here, and localhost may be reached at another address. Other failures are thrown.
 */
function ignoreForgotten(error: NodeJS.ErrnoException, { hostname }: URL): undefined {
  if (error.code === 'ECONNREFUSED' && hostname === home.name) return;
  if (error.syscall !== undefined || error.code === 'ETIMEDOUT') throw error;
}

/** Connects to the host of a URL; `mayBeLong` when a long response body may follow. */
export async function openConnection(url: URL, options: SendOptions, mayBeLong: boolean): Promise<Connection> {
  if (options.proxy) return await openProxied(options.proxy, url, options);
  const memory = options.insecure || url.protocol !== 'https:' ? undefined : options.sessions?.(url);
  const known = memory?.read();
  const resumed = known && (await open(url, options, mayBeLong, known.session).catch((error: Error) => ignoreForgotten(error, url)));
  const connection = resumed ?? (await open(url, options, mayBeLong));
  const isWanted = resumed === undefined || (known?.age ?? 0) > renewal;
  if (memory && isWanted) connection.socket.once('session', (session: Buffer) => memory.write(session));
  return connection;
}
