import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Server as TlsServer, TLSSocket } from 'node:tls';
import type { Reply } from '../../api/message.ts';
import { isSystemError, LocalError, type ApiError } from '../../base/errors.ts';
import { createConnectionPool, type ConnectionPool, type PooledConnection } from './connection-pool.ts';
import { asksForUpgrade, findFramingError } from './framing.ts';
import { HttpConnection } from './connection.ts';
import { splitPlainHttp } from './first-byte.ts';
import { createMalformedWriter, writeReason } from './malformed.ts';
import { readRequest, type Incoming } from './incoming.ts';
import { ConnectionClosed } from '../faults/inject.ts';
import { acceptProxied, type ClientAddresses } from './proxied-connections.ts';
import { discardBody } from './response.ts';
import { limitOf } from '../limit.ts';
import type { Service } from './serve.ts';
import type { ServiceSettings } from '../settings.ts';

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

/** A service that can be reached at a socket. */
export interface Listener {
  readonly url: string;
  readonly port: number;
  /** Uses another certificate for handshakes from now on. @throws when it cannot be used */
  renewTls(tls: { readonly certificate: string; readonly key: string }): void;
  /** Ends each connection after its next response, and goes on accepting. */
  drain(): void;
  /** Stops accepting, lets requests finish for up to `patience` milliseconds, then cuts them. */
  close(patience?: number): Promise<void>;
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

/** Resolves when what was written has left this process, or nobody takes it. */
function flush({ socket }: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    // Some releases of Node.js hand it to the connection in the next turn.
    setImmediate(() => {
      if (socket === null || socket.destroyed) return resolve();
      socket.once('close', () => resolve());
      socket.write('', () => resolve());
    });
  });
}

/** Resolves when more can be written, or nobody will read it. */
function waitWritable(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
  });
}

/** Writes a body at the speed at which the client reads it; stops when the client is gone. */
async function writeBody(response: ServerResponse, body: Reply['body'], onBytes: (size: number) => void): Promise<void> {
  for await (const piece of body) {
    if (response.destroyed) return;
    onBytes(piece.length);
    if (!response.write(piece)) await waitWritable(response);
    if (response.destroyed) return;
  }
}

async function writeReply(
  response: ServerResponse,
  reply: Reply,
  { isEarly, isWaiting, drain }: Incoming,
  { isLast, onBytes }: { isLast: boolean; onBytes: (size: number) => void },
): Promise<void> {
  const early = isEarly();
  // A body that turns out shorter than announced must break the connection, not look whole.
  response.strictContentLength = true;
  const { 'content-length': length, ...headers } = reply.headers;
  response.statusMessage = writeReason(reply.status);
  // As a number: Node.js before 20.19 compares it with what was written by identity.
  response.writeHead(reply.status, {
    ...headers,
    ...(length !== undefined && { 'content-length': Number(length) }),
    ...((early || isLast) && { connection: 'close' }),
  });
  if (early) response.flushHeaders();
  const abandon = (): void => discardBody(reply.body);
  response.once('close', abandon);
  await writeBody(response, reply.body, onBytes);
  response.off('close', abandon);
  // A client that waits for leave to send has nothing under way.
  if (early && !isWaiting()) await drain();
  response.end();
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
interface Watched {
  readonly server: Server;
  /** What answers plain HTTP at a port of TLS; it does not listen. */
  readonly plain: Server | undefined;
  readonly connections: Connections;
  /** Ends connections of balancers that have not told whose they are. */
  readonly endWaiting?: (() => void) | undefined;
}

function createSocketServer(options: ListenOptions, pool: ConnectionPool): Watched {
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

function bind({ server }: Watched, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function closeServer({ server, plain, connections: { open }, endWaiting }: Watched, patience: number): Promise<void> {
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

/** Errors of a machine that does not have the address. */
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

/** Servers that listen at the same port, and the name in the URL by which this machine reaches them. */
interface Bound {
  readonly servers: Watched[];
  readonly port: number;
  readonly name: string;
}

/** Binds the same port of the IPv6 loopback too, where there is one: `localhost` may mean either. Without IPv4 it is the only one. */
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
    await closeServer(server, 0);
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
  // Who listens everywhere is reached on this machine too, under the name that the certificate has.
  const isEverywhere = ['0.0.0.0', '::'].includes(host);
  const name = isEverywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return { servers: [server], port: await bind(server, host, options.port), name };
}

/**
 * Makes a service reachable at a port. Where this machine reaches it as `localhost`, the URL says so.
 * @throws {LocalError} when the port is taken or cannot be used.
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
      close: async (patience = 5000) => {
        await Promise.all(servers.map((server) => closeServer(server, patience)));
      },
    };
  } catch (error) {
    throw explainBinding(error, host, options.port);
  }
}
