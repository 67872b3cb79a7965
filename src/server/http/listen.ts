import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { isSystemError, LocalError } from '../../base/errors.ts';
import { createConnectionPool, type ConnectionPool } from './connection-pool.ts';
import { closeServer, createSocketServer, type ListenOptions, type Watched } from './socket-server.ts';

/** A service that listens on a socket. */
export interface Listener {
  readonly url: string;
  readonly port: number;
  /** Uses another certificate for new handshakes. @throws when it cannot be used */
  renewTls(tls: { readonly certificate: string; readonly key: string }): void;
  /** Ends each connection after its next response; new connections are still accepted. */
  drain(): void;
  /** Stops accepting, lets requests finish for up to `graceMs`, then destroys their connections. */
  close(graceMs?: number): Promise<void>;
}

async function bind({ server }: Watched, host: string, port: number): Promise<number> {
  await once(server.listen({ host, port }), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Error codes of a machine that does not have the address. */
const noAddress = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

function isInUse(error: unknown): boolean {
  return isSystemError(error) && error.code === 'EADDRINUSE';
}

function explainBinding(error: unknown, host: string, port: number): unknown {
  if (!isSystemError(error)) return error;
  if (error.code === 'EADDRINUSE') {
    return new LocalError(`port ${port} of ${host} is in use`, { hint: 'choose another port, or 0 for any free one', cause: error });
  }
  return new LocalError(`cannot listen on port ${port} of ${host}: ${error.message}`, { cause: error });
}

/** Servers that listen on the same port, and the name in the URL by which this machine reaches them. */
interface Bound {
  readonly servers: Watched[];
  readonly port: number;
  readonly name: string;
}

/** Also binds the same port of the IPv6 loopback, if there is one: `localhost` may mean either. Without IPv4, binds IPv6 only. */
async function bindBoth(options: ListenOptions, pool: ConnectionPool, port: number): Promise<Bound> {
  const server = createSocketServer(options, pool);
  const bound = await bind(server, '127.0.0.1', port).catch((error: unknown) => {
    if (isSystemError(error) && noAddress.has(error.code ?? '')) return undefined;
    throw error;
  });
  if (bound === undefined) return await bindOne({ ...options, host: '::1' }, pool);
  const second = createSocketServer(options, pool);
  try {
    await bind(second, '::1', bound);
    return { servers: [server, second], port: bound, name: 'localhost' };
  } catch (error) {
    if (!isInUse(error)) return { servers: [server], port: bound, name: 'localhost' };
    await closeServer(server, 0, options.log);
    throw error;
  }
}

async function bindLoopback(options: ListenOptions, pool: ConnectionPool): Promise<Bound> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await bindBoth(options, pool, options.port);
    } catch (error) {
      if (options.port !== 0 || attempt === 5 || !isInUse(error)) throw error;
    }
  }
}

async function bindOne(options: ListenOptions, pool: ConnectionPool): Promise<Bound> {
  const { host } = options;
  const server = createSocketServer(options, pool);
  // A service that listens on all addresses is also reached on this machine, under the name that its certificate has.
  const isEverywhere = ['0.0.0.0', '::'].includes(host);
  const name = isEverywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return { servers: [server], port: await bind(server, host, options.port), name };
}

/**
 * Makes a service reachable on a port. If this machine reaches it as `localhost`, the URL has that name.
 * @throws {LocalError} when the port is in use or cannot be bound
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, tls, pool = createConnectionPool(options.log) } = options;
  const isLoopback = host === '127.0.0.1' || host === 'localhost';
  try {
    const { servers, port, name } = await (isLoopback ? bindLoopback(options, pool) : bindOne(options, pool));
    return {
      port,
      url: `${tls === undefined ? 'http' : 'https'}://${name}:${port}`,
      renewTls: ({ certificate, key }) => {
        for (const { server } of servers) if (server instanceof TlsServer) server.setSecureContext({ cert: certificate, key });
      },
      drain: () => servers.forEach(({ connections }) => (connections.isDraining = true)),
      close: async (graceMs = 5000) => {
        await Promise.all(servers.map((server) => closeServer(server, graceMs, options.log)));
      },
    };
  } catch (error) {
    throw explainBinding(error, host, options.port);
  }
}
