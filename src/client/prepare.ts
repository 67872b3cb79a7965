import { connect as connectPlain } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { openTappable } from './direct.ts';
import type { SendOptions } from './send.ts';

/** Milliseconds after which a connection that nobody used yet may be one that the service has given up. */
const shelfLife = 4000;
/** Milliseconds after which a session that is still good is replaced by the newer one that the service offers. */
const renewal = 60_000;

/** What TLS asks for by name; nothing for an address. */
export function nameServer({ hostname }: URL): string {
  return hostname.startsWith('[') || /^\d+(\.\d+){3}$/.test(hostname) ? '' : hostname;
}

/**
 * This machine by its address, for a session that is resumed: a look-up of its name, and telling that it is no address, take a third of the time in
 * which Node.js starts.
 */
const home = { name: 'localhost', address: '127.0.0.1' };

/**
 * How to get there without asking for the address. The host of a session is the one that it began with, so that it cannot be the address itself. Over
 * a socket that is there already is the shortest way, but its bytes cannot be taken directly, which pays for itself in a long body only.
 */
function goHome(port: number, mayBeLong: boolean): ConnectionOptions & { family?: number } {
  if (!mayBeLong) return { socket: connectPlain({ host: home.address, port }) };
  return { family: 4, lookup: (_name, _options, give) => queueMicrotask(() => give(null, home.address, 4)) };
}

/**
 * One connection with TLS, checked. With a session to resume no authority is loaded at all: either the service proves that it is the one that was
 * checked when the session began, or the connection fails.
 */
function open(url: URL, { ca, insecure, connectTimeout }: SendOptions, mayBeLong: boolean, session?: Buffer): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const isHome = session !== undefined && url.hostname === home.name;
    const port = Number(url.port === '' ? 443 : url.port);
    const where = { host: url.hostname.replace(/^\[|\]$/g, ''), port, servername: isHome ? '' : nameServer(url) };
    const trust = { rejectUnauthorized: !insecure, ...(session ? { session, ca: [] } : ca !== undefined && { ca }) };
    const way = isHome && goHome(port, mayBeLong);
    const socket = openTappable({ ...where, ...trust, ...way, ALPNProtocols: ['http/1.1'] }, connect);
    socket.setNoDelay(true);
    const timer = setTimeout(() => socket.destroy(Object.assign(new Error('connecting'), { code: 'ETIMEDOUT' })), connectTimeout);
    // Stays: what happens before a request uses the connection is noticed by that request.
    socket.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    socket.once('secureConnect', () => {
      clearTimeout(timer);
      resolve(socket);
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

async function openChecked(url: URL, options: SendOptions, mayBeLong: boolean): Promise<TLSSocket> {
  const memory = options.insecure ? undefined : options.sessions?.(url);
  const known = memory?.read();
  const resumed = known && (await open(url, options, mayBeLong, known.session).catch((error: Error) => ignoreForgotten(error, url)));
  const socket = resumed ?? (await open(url, options, mayBeLong));
  const isWanted = resumed === undefined || (known?.age ?? 0) > renewal;
  if (memory && isWanted) socket.once('session', (session) => memory.write(session));
  return socket;
}

/** A connection that is made while the request for it is still being signed. */
export interface Prepared {
  /** The connection, once: undefined when it is no longer good. @throws what went wrong while it was made */
  take(): Promise<TLSSocket | undefined>;
  close(): void;
}

/** Begins to connect. */
export function prepareConnection(url: URL, options: SendOptions, mayBeLong: boolean): Prepared {
  let since = Infinity;
  const opening = openChecked(url, options, mayBeLong).then((socket) => {
    since = Date.now();
    return socket;
  });
  // A failure belongs to the request that takes the connection.
  opening.catch(() => undefined);
  return {
    take: async () => {
      const socket = await opening;
      if (socket.writable && Date.now() - since < shelfLife) return socket;
      socket.destroy();
      return undefined;
    },
    close: () => void opening.then((socket) => socket.destroy()).catch(() => undefined),
  };
}
