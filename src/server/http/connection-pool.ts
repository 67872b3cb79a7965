import type { Socket } from 'node:net';
import { readDescriptorLimit } from './descriptor-limit.ts';
import { limitOf } from '../limit.ts';
import { createRepeatedLog } from './repeated-log.ts';
import type { ServiceSettings } from '../settings.ts';

/** File descriptors reserved for the database, listeners, logs and the zones of jobs. */
const reservedDescriptors = 64;

/** Minimum number of connections, however low the descriptor limit is. */
const fewestConnections = 16;

/** Maximum share of all connections for one address. */
const addressShare = 0.75;

/** Milliseconds without a byte after which an anonymous request in progress counts as idle. */
const stallLimit = 10_000;

/** An accepted connection, including one whose TLS handshake is not complete. */
export interface PooledConnection {
  readonly socket: Socket;
  /** Address of the client, not of the load balancer that forwards the connection. */
  readonly address: string;
  /** True once a request over it had a valid signature. */
  authenticated: boolean;
  /** True while a request is in progress. */
  busy: boolean;
  /** Bytes transferred in both directions at the last check, and when that number last changed. */
  bytes: number;
  changed: number;
}

/** Maximum numbers of connections that the services of a process accept. */
export interface PoolLimits {
  readonly connections: number;
  readonly perAddress: number;
}

/** The connections of all listeners of a process, which share its descriptors. */
export interface ConnectionPool {
  readonly limits: PoolLimits;
  /** Number of open connections. */
  count(): number;
  /** Adds a new connection of a client; undefined if there was no room and the connection was destroyed. */
  add(socket: Socket, address?: string): PooledConnection | undefined;
}

/**
 * As many connections as the settings allow, but at most half of the unreserved descriptors: each request may have a file open in addition
 * to its connection.
 */
export function computePoolLimits(settings: ServiceSettings, descriptors = readDescriptorLimit()): PoolLimits {
  const half = Math.max(fewestConnections, Math.floor((descriptors - reservedDescriptors) / 2));
  const connections = Math.min(limitOf(settings, 'connections'), half);
  return { connections, perAddress: Math.ceil(connections * addressShare) };
}

/** True if closing the connection loses no response: no request is in progress, or an anonymous one has stalled. */
function isIdle(connection: PooledConnection, now: number): boolean {
  if (!connection.busy) return true;
  if (connection.authenticated) return false;
  const bytes = connection.socket.bytesRead + connection.socket.bytesWritten;
  if (bytes === connection.bytes) return now - connection.changed > stallLimit;
  connection.bytes = bytes;
  connection.changed = now;
  return false;
}

/** The connection that is closed to make room: the oldest idle one without a valid signature, otherwise the oldest idle one. */
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
 * Creates the pool. When the pool is full, or one address has used up its share, an idle connection is closed for a new one; if none is
 * idle, the new connection is refused. The log gets the number of both.
 */
export function createConnectionPool(log: (line: string) => void, limits: PoolLimits = computePoolLimits({})): ConnectionPool {
  // Both are in the order in which the connections were accepted.
  const all = new Set<PooledConnection>();
  const byAddress = new Map<string, Set<PooledConnection>>();
  const { connections: most, perAddress } = limits;
  const limit = `limit connections reached (${most}, ${perAddress} per address)`;
  const logEnded = createRepeatedLog(log, (count) => `${limit}: closed ${count} idle connections to accept new ones`);
  const logRefused = createRepeatedLog(log, (count) => `${limit}: rejected ${count} new connections because no connection was idle`);

  function remove(connection: PooledConnection): void {
    all.delete(connection);
    const same = byAddress.get(connection.address);
    same?.delete(connection);
    if (same?.size === 0) byAddress.delete(connection.address);
  }

  /** True if one more connection fits into this set, if necessary after closing an idle one. */
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
