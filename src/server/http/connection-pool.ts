import type { Socket } from 'node:net';
import { readDescriptorLimit } from './descriptor-limit.ts';
import { limitOf } from '../limit.ts';
import { createRepeatedLog } from './repeated-log.ts';
import type { ServiceSettings } from '../settings.ts';

/** Descriptors that are left for the database, listeners, logs and the zones of jobs. */
const reservedDescriptors = 64;

/** Connections that are accepted however low the descriptor limit is. */
const fewestConnections = 16;

/** The part of all connections that one address may have. */
const addressShare = 0.75;

/** Milliseconds without a byte after which an anonymous request under way counts as idle. */
const stallLimit = 10_000;

/** A connection that was accepted, before the TLS handshake as well. */
export interface PooledConnection {
  readonly socket: Socket;
  /** Of the client: not of the balancer that passes the connection on. */
  readonly address: string;
  /** True once a request over it had a valid signature. */
  authenticated: boolean;
  /** True while a request is being answered. */
  busy: boolean;
  /** Bytes in both directions when they were last looked at, and when they last changed. */
  bytes: number;
  changed: number;
}

/** How many connections the services of a process accept. */
export interface PoolLimits {
  readonly connections: number;
  readonly perAddress: number;
}

/** The connections of all listeners of a process: they share its descriptors. */
export interface ConnectionPool {
  readonly limits: PoolLimits;
  /** Connections that are open. */
  count(): number;
  /** Takes a new connection of a client; undefined when there is no room and the connection was destroyed. */
  add(socket: Socket, address?: string): PooledConnection | undefined;
}

/**
 * As many connections as the settings allow, but no more than half of the descriptors that are not reserved: each request may have a file
 * open beside its connection.
 */
export function computePoolLimits(settings: ServiceSettings, descriptors = readDescriptorLimit()): PoolLimits {
  const half = Math.max(fewestConnections, Math.floor((descriptors - reservedDescriptors) / 2));
  const connections = Math.min(limitOf(settings, 'connections'), half);
  return { connections, perAddress: Math.ceil(connections * addressShare) };
}

/** True when nobody loses an answer by the end of a connection: nothing is under way, or nothing moves for long. */
function isIdle(connection: PooledConnection, now: number): boolean {
  if (!connection.busy) return true;
  if (connection.authenticated) return false;
  const bytes = connection.socket.bytesRead + connection.socket.bytesWritten;
  if (bytes === connection.bytes) return now - connection.changed > stallLimit;
  connection.bytes = bytes;
  connection.changed = now;
  return false;
}

/** The connection that makes room: the oldest idle one without a valid signature, else the oldest idle one. */
function chooseVictim(connections: Iterable<PooledConnection>, now: number): PooledConnection | undefined {
  let authenticated: PooledConnection | undefined;
  for (const connection of connections) {
    if (!isIdle(connection, now)) continue;
    if (!connection.authenticated) return connection;
    authenticated ??= connection;
  }
  return authenticated;
}

/**
 * Makes the pool. When it is full, or one address has its share, an idle connection makes room for a new one; where none is idle, the new
 * one is refused. Both are logged, counted.
 */
export function createConnectionPool(log: (line: string) => void, limits: PoolLimits = computePoolLimits({})): ConnectionPool {
  // Both in the order in which the connections were accepted.
  const all = new Set<PooledConnection>();
  const byAddress = new Map<string, Set<PooledConnection>>();
  const { connections: most, perAddress } = limits;
  const limit = `limit connections reached (${most}, ${perAddress} of one address)`;
  const logEnded = createRepeatedLog(log, (count) => `${limit}: closed ${count} idle connections for new ones`);
  const logRefused = createRepeatedLog(log, (count) => `${limit}: refused ${count} new connections, none was idle`);

  function remove(connection: PooledConnection): void {
    all.delete(connection);
    const same = byAddress.get(connection.address);
    same?.delete(connection);
    if (same?.size === 0) byAddress.delete(connection.address);
  }

  /** True when there is room for one more of these connections. */
  function makeRoom(connections: ReadonlySet<PooledConnection>, limit: number): boolean {
    if (connections.size < limit) return true;
    const victim = chooseVictim(connections, Date.now());
    if (victim === undefined) return false;
    remove(victim);
    victim.socket.destroy();
    logEnded();
    return true;
  }

  return {
    limits,
    count: () => all.size,
    add(socket, address = socket.remoteAddress ?? '') {
      if (!makeRoom(byAddress.get(address) ?? new Set(), perAddress) || !makeRoom(all, most)) {
        logRefused();
        socket.destroy();
        return undefined;
      }
      const connection = { socket, address, authenticated: false, busy: false, bytes: -1, changed: Date.now() };
      const same = byAddress.get(address) ?? new Set();
      byAddress.set(address, same.add(connection));
      all.add(connection);
      socket.once('close', () => remove(connection));
      return connection;
    },
  };
}
