import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { HttpResponse } from '../../api/message.ts';
import type { ApiError } from '../../base/errors.ts';
import type { ConnectionPool, PooledConnection } from './connection-pool.ts';
import { asksForUpgrade, findFramingError } from './framing.ts';
import { HttpConnection } from './connection.ts';
import { splitPlainHttp } from './first-byte.ts';
import { createMalformedWriter } from './malformed.ts';
import { readRequest } from './incoming.ts';
import { ConnectionClosed } from '../faults/inject.ts';
import { createRepeatedLog } from './repeated-log.ts';
import { beginsAsProxied } from './proxy-header.ts';
import { acceptProxied, type ClientAddresses } from './proxied-connections.ts';
import { discardBody } from './response.ts';
import { limitOf } from '../limit.ts';
import type { Service } from './serve.ts';
import type { ServiceSettings } from '../settings.ts';
import { flush, writeResponse } from './write-response.ts';

/** Options of a listener. */
export interface ListenOptions {
  readonly handle: Service;
  /** Certificate and key, PEM; plain HTTP without them. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** True if plain HTTP is treated as if TLS protected it. */
  readonly trusted?: boolean;
  readonly log: (line: string) => void;
  /** Shared by all listeners of the process; if absent, the listener has its own. */
  readonly pool?: ConnectionPool | undefined;
  readonly settings?: ServiceSettings | undefined;
  /** True for addresses of load balancers, which send the client's address in a PROXY header; if absent, there are none. */
  readonly isBalancer?: ((address: string) => boolean) | undefined;
}

const keepAliveMs = 65_000;

const serverOptions: ServerOptions = {
  keepAlive: true,
  keepAliveTimeout: keepAliveMs,
  headersTimeout: 30_000,
  // How often the timeouts are checked.
  connectionsCheckingInterval: 5000,
  // Bodies may take any time as long as data arrives; pauses are detected where bodies are read.
  requestTimeout: 0,
  highWaterMark: 256 * 1024,
  // `findFramingError` checks it: the response of Node.js would lack the body and the headers of errors.
  requireHostHeader: false,
};

/** Options of a server that reads up to twice the permitted bytes, so that longer headers get an error that names the limit. */
function limitHeaders(settings: ServiceSettings): ServerOptions {
  return { ...serverOptions, maxHeaderSize: 2 * (limitOf(settings, 'targetBytes') + limitOf(settings, 'headerBytes')) };
}

/** The connections of a listener. */
interface Connections {
  /** By the socket that requests come from: for TLS, the decrypted side. */
  readonly http: WeakMap<Socket, HttpConnection>;
  readonly open: Set<PooledConnection>;
  /** True if each response is to be the last one of its connection. */
  isDraining: boolean;
}

/** True if TLS protects a connection; a TLS port also accepts plain HTTP. */
function isEncrypted(socket: Socket): boolean {
  return socket instanceof TLSSocket;
}

function createHandler({ handle, trusted = false, log, settings = {} }: ListenOptions, connections: Connections) {
  const exchange = async (incoming: IncomingMessage, response: ServerResponse, expects: boolean, refusal?: ApiError): Promise<void> => {
    let result: HttpResponse | undefined;
    let sent = 0;
    try {
      const pooled = connections.http.get(incoming.socket)?.pooled;
      const taken = readRequest(incoming, response, expects, settings);
      result = await handle(taken.request, {
        remoteAddress: pooled?.address ?? '',
        secure: trusted || isEncrypted(incoming.socket),
        refusal,
        authenticated: () => {
          if (pooled !== undefined) pooled.authenticated = true;
        },
        onGone: (listener) => void (response.closed ? listener() : response.once('close', listener)),
        transferred: () => ({ received: taken.received(), sent, isWhole: response.writableFinished }),
      });
      const isLast = connections.isDraining || refusal !== undefined || asksForUpgrade(incoming);
      if (response.destroyed) discardBody(result.body);
      else await writeResponse(response, result, taken, { isLast, onBytes: (size) => void (sent += size) });
    } catch (error) {
      if (result !== undefined) discardBody(result.body);
      if (response.destroyed) return;
      if (error instanceof ConnectionClosed) await flush(response);
      // The headers have been sent: breaking the connection is the only way left to signal that the body is incomplete.
      response.destroy();
      if (!(error instanceof ConnectionClosed))
        log(`response to ${incoming.method ?? ''} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  };
  return (expects: boolean) =>
    (incoming: IncomingMessage, response: ServerResponse): void => {
      // Without a listener, an abrupt end of the connection would end the process.
      incoming.on('error', () => undefined);
      response.on('error', () => undefined);
      const begin = (refusal = findFramingError(incoming, expects, settings)): void => void exchange(incoming, response, expects, refusal);
      connections.http.get(incoming.socket)?.add({ incoming, response, begin });
    };
}

/** Identifies a connection by its peer, which is the same for both sides of TLS. */
function describePeer({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Adds the connections of a server to the pool, and tracks them until they end. */
function watchConnections(
  server: Server,
  pool: ConnectionPool,
  addresses: ClientAddresses,
  { handle, tls, trusted = false, settings = {} }: ListenOptions,
): Connections & { readonly takeSocket: (socket: Socket) => void } {
  const connections: Connections = { http: new WeakMap(), open: new Set(), isDraining: false };
  const mostWaiting = limitOf(settings, 'pipelinedRequests');
  const byPeer = new Map<string, PooledConnection>();
  const addConnection = (socket: Socket, pooled: PooledConnection): void => {
    const writeMalformed = createMalformedWriter(handle, { remoteAddress: pooled.address, secure: trusted || isEncrypted(socket) });
    connections.http.set(socket, new HttpConnection(socket, pooled, mostWaiting, writeMalformed));
  };
  server.on('connection', (socket: Socket) => {
    const pooled = pool.add(socket, addresses.get(socket));
    if (pooled === undefined) return;
    const peer = describePeer(socket);
    connections.open.add(pooled);
    byPeer.set(peer, pooled);
    if (tls === undefined) addConnection(socket, pooled);
    socket.once('close', () => {
      connections.open.delete(pooled);
      if (byPeer.get(peer) === pooled) byPeer.delete(peer);
    });
  });
  const takeSocket = (socket: Socket): void => {
    const pooled = byPeer.get(describePeer(socket));
    if (pooled === undefined) socket.destroy();
    else addConnection(socket, pooled);
  };
  server.prependListener('secureConnection', takeSocket);
  return Object.assign(connections, { takeSocket });
}

/** A server and its connections. */
export interface Watched {
  readonly server: Server;
  /** The server for plain HTTP on a TLS port; it does not listen itself. */
  readonly plain: Server | undefined;
  readonly connections: Connections;
  /** Closes connections of load balancers that have not sent their header. */
  readonly endWaiting?: (() => void) | undefined;
}

/** Creates a server for HTTPS and plain HTTP on one TLS port, or for plain HTTP only; it does not listen yet. */
export function createSocketServer(options: ListenOptions, pool: ConnectionPool): Watched {
  const { isBalancer, log, settings = {} } = options;
  const addresses: ClientAddresses = new WeakMap();
  const watched = createHttpServer(options, pool, addresses);
  if (isBalancer === undefined) return watched;
  const limits = { patienceMs: limitOf(settings, 'handshakeMilliseconds'), mostWaiting: pool.limits.connections };
  return { ...watched, endWaiting: acceptProxied(watched.server, addresses, { isBalancer, log, ...limits }) };
}

/** Creates the server as if no load balancer were in front of it. */
function createHttpServer(options: ListenOptions, pool: ConnectionPool, addresses: ClientAddresses): Watched {
  const { tls, settings = {} } = options;
  const handshakeTimeout = limitOf(settings, 'handshakeMilliseconds');
  const httpOptions = limitHeaders(settings);
  if (tls === undefined) {
    const server = createServer(httpOptions);
    const connections = watchConnections(server, pool, addresses, options);
    answerRequests(server, options, connections);
    return { server, plain: undefined, connections };
  }
  const server = createTlsServer({ ...httpOptions, handshakeTimeout, cert: tls.certificate, key: tls.key });
  const plain = createServer(httpOptions);
  splitPlainHttp(
    server,
    (socket) => {
      connections.takeSocket(socket);
      if (!socket.destroyed) plain.emit('connection', socket);
    },
    handshakeTimeout,
  );
  const connections = watchConnections(server, pool, addresses, options);
  for (const each of [server, plain]) answerRequests(each, options, connections);
  // From then on the server enforces its timeouts.
  server.once('listening', () => plain.emit('listening'));
  return { server, plain, connections };
}

function answerRequests(server: Server, options: ListenOptions, connections: Connections): void {
  // Reads all header lines, so that too many are an error: Node.js silently drops those beyond its limit.
  server.maxHeadersCount = 0;
  const handler = createHandler(options, connections);
  server.on('request', handler(false));
  server.on('checkContinue', handler(true));
  server.on('checkExpectation', handler(false));
  let last = '';
  const reportProxied = createRepeatedLog(
    options.log,
    (count) => `${count} connections began with a PROXY header, the last from ${last}, which --proxy-protocol-from does not name`,
  );
  server.on('clientError', (error: Error & { readonly rawPacket?: Buffer }, socket: Socket) => {
    const { remoteAddress = '' } = socket;
    if (error.rawPacket !== undefined && beginsAsProxied(error.rawPacket) && options.isBalancer?.(remoteAddress) !== true) {
      last = remoteAddress;
      reportProxied();
    }
    const connection = connections.http.get(socket);
    // Before the end of the handshake no response is possible, and an orderly end would wait for the client.
    if (connection === undefined) socket.destroy();
    else connection.endOnError(error);
  });
}

/** Stops accepting, lets requests finish for up to `graceMs`, then destroys their connections. */
export function closeServer(
  { server, plain, connections: { open }, endWaiting }: Watched,
  graceMs: number,
  log: (line: string) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const destroyAll = (): void => {
      const cut = [...open].filter(({ busy }) => busy).length;
      if (cut > 0) log(`cut ${cut} connections whose requests took longer than the time to finish them`);
      open.forEach(({ socket }) => socket.destroy());
    };
    const cut = setTimeout(destroyAll, graceMs);
    // Connections become idle one by one as their requests finish, without an event.
    const sweep = setInterval(() => open.forEach(({ busy, socket }) => (busy ? undefined : socket.destroy())), 20);
    plain?.close();
    endWaiting?.();
    server.close(() => {
      clearTimeout(cut);
      clearInterval(sweep);
      resolve();
    });
  });
}
