import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Reply } from '../../api/message.ts';
import type { ApiError } from '../../base/errors.ts';
import type { ConnectionPool, PooledConnection } from './connection-pool.ts';
import { asksForUpgrade, findFramingError } from './framing.ts';
import { HttpConnection } from './connection.ts';
import { splitPlainHttp } from './first-byte.ts';
import { createMalformedWriter } from './malformed.ts';
import { readRequest } from './incoming.ts';
import { ConnectionClosed } from '../faults/inject.ts';
import { acceptProxied, type ClientAddresses } from './proxied-connections.ts';
import { discardBody } from './response.ts';
import { limitOf } from '../limit.ts';
import type { Service } from './serve.ts';
import type { ServiceSettings } from '../settings.ts';
import { flush, writeReply } from './write-reply.ts';

/** What to listen with. */
export interface ListenOptions {
  readonly handle: Service;
  /** Certificate and key, PEM; plain HTTP without them. */
  readonly tls?: { readonly certificate: string; readonly key: string } | undefined;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** True when plain HTTP is to be treated as if TLS protected it. */
  readonly trusted?: boolean;
  readonly log: (line: string) => void;
  /** Shared by all listeners of the process; one of its own when absent. */
  readonly pool?: ConnectionPool | undefined;
  readonly settings?: ServiceSettings | undefined;
  /** True for addresses of balancers, which tell the client's address in a PROXY header; no address when absent. */
  readonly isBalancer?: ((address: string) => boolean) | undefined;
}

const keepAliveTime = 65_000;

const largePieces = 256 * 1024;

const serverOptions: ServerOptions = {
  keepAlive: true,
  keepAliveTimeout: keepAliveTime,
  headersTimeout: 30_000,
  // How often that is looked at.
  connectionsCheckingInterval: 5000,
  // Bodies may take as long as they keep coming; a pause is noticed where they are read.
  requestTimeout: 0,
  highWaterMark: largePieces,
};

/** Options of a server that reads twice the bytes that may come: what is too long is refused by the name of its limit. */
function limitHeads(settings: ServiceSettings): ServerOptions {
  return { ...serverOptions, maxHeaderSize: 2 * (limitOf(settings, 'targetBytes') + limitOf(settings, 'headerBytes')) };
}

/** What a listener knows of the connections to it. */
interface Connections {
  /** By the socket that requests come from: over TLS, the one of the decrypted side. */
  readonly http: WeakMap<Socket, HttpConnection>;
  readonly open: Set<PooledConnection>;
  /** True when each response is to be the last one of its connection. */
  isDraining: boolean;
}

/** Whether TLS protects a connection: a port of TLS also takes plain HTTP. */
function isEncrypted(socket: Socket): boolean {
  return socket instanceof TLSSocket;
}

function createHandler({ handle, trusted = false, log, settings = {} }: ListenOptions, connections: Connections) {
  const exchange = async (incoming: IncomingMessage, response: ServerResponse, expects: boolean, refusal?: ApiError): Promise<void> => {
    let reply: Reply | undefined;
    let sent = 0;
    try {
      const pooled = connections.http.get(incoming.socket)?.pooled;
      const taken = readRequest(incoming, response, expects, settings);
      reply = await handle(taken.request, {
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
      if (response.destroyed) discardBody(reply.body);
      else await writeReply(response, reply, taken, { isLast, onBytes: (size) => void (sent += size) });
    } catch (error) {
      if (reply !== undefined) discardBody(reply.body);
      if (response.destroyed) return;
      if (error instanceof ConnectionClosed) await flush(response);
      // The head is gone: a broken connection is the only way left to say that the body is not whole.
      response.destroy();
      if (!(error instanceof ConnectionClosed))
        log(`reply to ${incoming.method ?? ''} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  };
  return (expects: boolean) =>
    (incoming: IncomingMessage, response: ServerResponse): void => {
      // Without a listener an abrupt end of the connection would end the process.
      incoming.on('error', () => undefined);
      response.on('error', () => undefined);
      const begin = (refusal = findFramingError(incoming, expects, settings)): void => void exchange(incoming, response, expects, refusal);
      connections.http.get(incoming.socket)?.add({ incoming, response, begin });
    };
}

/** The same for both sides of TLS. */
function describePeer({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Takes the connections of a server into the pool, and knows them from their beginning to their end. */
function watchConnections(
  server: Server,
  pool: ConnectionPool,
  addresses: ClientAddresses,
  { handle, tls, trusted = false, settings = {} }: ListenOptions,
): Connections & { readonly takePlain: (socket: Socket) => void } {
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
  server.prependListener('secureConnection', (socket: Socket) => {
    const pooled = byPeer.get(describePeer(socket));
    if (pooled === undefined) socket.destroy();
    else addConnection(socket, pooled);
  });
  const takePlain = (socket: Socket): void => {
    const pooled = byPeer.get(describePeer(socket));
    if (pooled === undefined) socket.destroy();
    else addConnection(socket, pooled);
  };
  return Object.assign(connections, { takePlain });
}

/** A server, and what it knows of its connections. */
export interface Watched {
  readonly server: Server;
  /** What answers plain HTTP at a port of TLS; it does not listen. */
  readonly plain: Server | undefined;
  readonly connections: Connections;
  /** Ends connections of balancers that have not told whose they are. */
  readonly endWaiting?: (() => void) | undefined;
}

/** A server for both kinds of HTTP at one port of TLS, or for plain HTTP; it does not listen yet. */
export function createSocketServer(options: ListenOptions, pool: ConnectionPool): Watched {
  const { isBalancer, log, settings = {} } = options;
  const addresses: ClientAddresses = new WeakMap();
  const watched = createAnsweringServer(options, pool, addresses);
  if (isBalancer === undefined) return watched;
  const limits = { patienceMs: limitOf(settings, 'handshakeMilliseconds'), mostWaiting: pool.limits.connections };
  return { ...watched, endWaiting: acceptProxied(watched.server, addresses, { isBalancer, log, ...limits }) };
}

function createAnsweringServer(options: ListenOptions, pool: ConnectionPool, addresses: ClientAddresses): Watched {
  const { tls, settings = {} } = options;
  const handshakeTimeout = limitOf(settings, 'handshakeMilliseconds');
  const heads = limitHeads(settings);
  if (tls === undefined) {
    const server = createServer(heads);
    const connections = watchConnections(server, pool, addresses, options);
    answerRequests(server, options, connections);
    return { server, plain: undefined, connections };
  }
  const server = createTlsServer({ ...heads, handshakeTimeout, cert: tls.certificate, key: tls.key });
  const plain = createServer(heads);
  splitPlainHttp(
    server,
    (socket) => {
      connections.takePlain(socket);
      if (!socket.destroyed) plain.emit('connection', socket);
    },
    handshakeTimeout,
  );
  const connections = watchConnections(server, pool, addresses, options);
  for (const each of [server, plain]) answerRequests(each, options, connections);
  // Its limits of time are kept from then on.
  server.once('listening', () => plain.emit('listening'));
  return { server, plain, connections };
}

function answerRequests(server: Server, options: ListenOptions, connections: Connections): void {
  // All lines are read, so that too many are refused: Node.js drops those beyond its limit without a word.
  server.maxHeadersCount = 0;
  const handler = createHandler(options, connections);
  server.on('request', handler(false));
  server.on('checkContinue', handler(true));
  server.on('checkExpectation', handler(false));
  server.on('clientError', (error: Error, socket: Socket) => {
    const connection = connections.http.get(socket);
    // Before the end of the handshake nothing can be answered, and an orderly end would wait for the client.
    if (connection === undefined) socket.destroy();
    else connection.refuse(error);
  });
}

/** Stops accepting, lets requests finish for up to `patience` milliseconds, then cuts them. */
export function closeServer({ server, plain, connections: { open }, endWaiting }: Watched, patience: number): Promise<void> {
  return new Promise((resolve) => {
    const destroyAll = (): void => open.forEach(({ socket }) => socket.destroy());
    const cut = setTimeout(destroyAll, patience);
    // Connections fall idle one by one as their requests finish; nothing tells when.
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
