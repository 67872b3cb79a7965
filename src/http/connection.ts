import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectSecure, type ConnectionOptions } from 'node:tls';
import { createFailure } from './network-error.ts';
import { openThrough } from './proxy.ts';
import type { Proxy, SendOptions } from './send.ts';

/** Milliseconds after which a connection that nobody used may be one that the service has given up. */
export const shelfLife = 4000;

/** Milliseconds after which a session that is still good is replaced by the newer one that the service offers. */
const renewal = 60_000;

/** Bytes that a connection brings at once, at most, where it is asked for them directly. */
const readSize = 64 * 1024;

/** Who gets the bytes that a connection brings; false when they have to pause. */
export type Taker = (bytes: Uint8Array) => boolean;

/** A connection to a service, ready for requests. */
export interface Connection {
  readonly socket: Socket;
  /** True when the bytes that a taker is given are good until it returns only. */
  readonly isShared: boolean;
  /** Gives what comes from now on to this taker. While there is none, whatever comes is one thing too many, and ends the connection. */
  readonly take: (taker: Taker | undefined) => void;
}

/** What TLS asks for by name; nothing for an address. */
function nameServer({ hostname }: URL): string {
  return hostname.startsWith('[') || /^\d+(\.\d+){3}$/.test(hostname) ? '' : hostname;
}

/**
 * This machine by its address, for a session that is resumed: a look-up of its name, and telling that it is no address, take a third of the time in
 * which Node.js starts.
 */
const home = { name: 'localhost', address: '127.0.0.1' };

/**
 * How to get there without asking for the address. The host of a session is the one that it began with, so that it cannot be the address itself. Over
 * a socket that is there already is the shortest way, but its bytes cannot be had directly, which pays for itself in a long body only.
 */
function goHome(port: number, mayBeLong: boolean): ConnectionOptions & { family?: number } {
  if (!mayBeLong) return { socket: connectPlain({ host: home.address, port }) };
  return { family: 4, lookup: (_name, _options, give) => queueMicrotask(() => give(null, home.address, 4)) };
}

/** A connection over a socket that is there already: its bytes come by its stream. */
function tapStream(socket: Socket): Connection {
  let current: Taker | undefined;
  socket.on('data', (bytes: Buffer) => {
    if (current === undefined) socket.destroy();
    else if (!current(bytes)) socket.pause();
  });
  return { socket, isShared: false, take: (taker) => (current = taker) };
}

/** Makes a connection whose bytes come past its stream, where Node.js can do that: a third of the time that a stream of 16 KiB pieces takes. */
function openTapped<O extends object>(options: O, connect: (options: O) => Socket): Connection {
  // Over a socket that is there already Node.js has nobody else told of the bytes.
  if ('socket' in options) return tapStream(connect(options));
  let current: Taker | undefined;
  const buffer = Buffer.allocUnsafeSlow(readSize);
  const callback = (length: number): boolean => {
    if (current) return current(buffer.subarray(0, length));
    socket.destroy();
    return false;
  };
  const socket = connect({ ...options, onread: { buffer, callback } });
  return { socket, isShared: true, take: (taker) => (current = taker) };
}

/** A connection through a proxy, whose bytes come by its stream: the tunnel is there before TLS begins. */
async function openProxied(proxy: Proxy, url: URL, options: SendOptions): Promise<Connection> {
  const socket = await openThrough(proxy, url, options);
  const connection = tapStream(socket);
  socket.setNoDelay(true);
  // What happens while nobody uses the connection is noticed by the request that does.
  socket.on('error', () => undefined);
  socket.resume();
  return connection;
}

/**
 * Opens a connection, with TLS for https, checked. With a session to resume no authority is loaded at all: either the service proves that it is the one
 * that was checked when the session began, or the connection fails.
 */
function open(url: URL, { ca, insecure, connectTimeout }: SendOptions, mayBeLong: boolean, session?: Buffer): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const isSecure = url.protocol === 'https:';
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const port = Number(url.port === '' ? (isSecure ? 443 : 80) : url.port);
    const isHome = session !== undefined && url.hostname === home.name;
    const trust = { rejectUnauthorized: !insecure, ...(session ? { session, ca: [] } : ca !== undefined && { ca }) };
    const secure = { host, port, servername: isHome ? '' : nameServer(url), ...trust, ...(isHome && goHome(port, mayBeLong)) };
    const connection = isSecure
      ? openTapped({ ...secure, ALPNProtocols: ['http/1.1'] }, connectSecure)
      : openTapped({ host, port }, (options) => connectPlain(options));
    const { socket } = connection;
    socket.setNoDelay(true);
    const timer = setTimeout(() => socket.destroy(createFailure('ETIMEDOUT', 'connecting')), connectTimeout);
    // Stays: what happens while nobody uses the connection is noticed by the request that does.
    socket.on('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(createFailure('ECONNRESET', 'closed'));
    });
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      // Its end is told to who reads it only.
      socket.resume();
      resolve(connection);
    });
  });
}

/**
 * A service that does not know the session any more shows its certificate, which nobody is there to check, and this machine may have it at another
 * address; other failures stay failures.
 */
function ignoreForgotten(error: NodeJS.ErrnoException, { hostname }: URL): undefined {
  if (error.code === 'ECONNREFUSED' && hostname === home.name) return;
  if (error.syscall !== undefined || error.code === 'ETIMEDOUT') throw error;
}

/** Connects to the host of a URL; `mayBeLong` when a long body may come. */
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
