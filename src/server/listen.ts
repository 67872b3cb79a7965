import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Reply } from '../api/message.ts';
import { isSystemError, LocalError } from '../errors.ts';
import { drainBody, readRequest, type Incoming } from './incoming.ts';
import { discardBody } from './reply.ts';
import type { Service } from './serve.ts';

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
}

/** A service that can be reached at a socket. */
export interface Listener {
  readonly url: string;
  readonly port: number;
  /** Stops accepting, lets requests finish for up to `patience` milliseconds, then cuts them. */
  close(patience?: number): Promise<void>;
}

const keepAliveTime = 65_000;
const largePieces = 256 * 1024;

const serverOptions: ServerOptions = {
  keepAlive: true,
  keepAliveTimeout: keepAliveTime,
  headersTimeout: 30_000,
  // Bodies may take as long as they keep coming; a pause is noticed where they are read.
  requestTimeout: 0,
  highWaterMark: largePieces,
};

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
async function writeBody(response: ServerResponse, body: Reply['body']): Promise<void> {
  for await (const piece of body) {
    if (response.destroyed) return;
    if (!response.write(piece)) await waitWritable(response);
    if (response.destroyed) return;
  }
}

async function writeReply(
  incoming: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  { isEarly, isWaiting }: Incoming,
): Promise<void> {
  const early = isEarly();
  // A body that turns out shorter than announced must break the connection, not look whole.
  response.strictContentLength = true;
  const { 'content-length': length, ...headers } = reply.headers;
  // As a number: Node.js before 20.19 compares it with what was written by identity.
  response.writeHead(reply.status, {
    ...headers,
    ...(length !== undefined && { 'content-length': Number(length) }),
    ...(early && { connection: 'close' }),
  });
  if (early) response.flushHeaders();
  const abandon = (): void => discardBody(reply.body);
  response.once('close', abandon);
  await writeBody(response, reply.body);
  response.off('close', abandon);
  // A client that waits for leave to send has nothing under way.
  if (early && !isWaiting()) await drainBody(incoming);
  response.end();
}

function createHandler({ handle, tls, trusted = false, log }: ListenOptions) {
  const secure = tls !== undefined || trusted;
  const exchange = async (incoming: IncomingMessage, response: ServerResponse, expects: boolean): Promise<void> => {
    try {
      const connection = { remoteAddress: incoming.socket.remoteAddress ?? '', secure };
      const taken = readRequest(incoming, response, expects);
      await writeReply(incoming, response, await handle(taken.request, connection), taken);
    } catch (error) {
      if (response.destroyed) return;
      // The head is gone: a broken connection is the only way left to say that the body is not whole.
      response.destroy();
      log(`reply to ${incoming.method ?? ''} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  };
  return (expects: boolean) =>
    (incoming: IncomingMessage, response: ServerResponse): void => {
      latest.set(incoming.socket, { incoming, response });
      // Without a listener an abrupt end of the connection would end the process.
      incoming.on('error', () => undefined);
      response.on('error', () => undefined);
      void exchange(incoming, response, expects);
    };
}

/** The latest exchange of each connection. */
const latest = new WeakMap<Socket, { incoming: IncomingMessage; response: ServerResponse }>();

/** Whether a reply is on its way over a connection, or came before the body of its request did. */
function isAnswering(socket: Socket): boolean {
  const { incoming, response } = latest.get(socket) ?? {};
  return response?.headersSent === true && !(incoming?.complete === true && response.writableFinished);
}

/** Answers what is not HTTP, or too slow or too large to be, as far as the socket still takes an answer. */
function refuseMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  // Another answer would stand in the middle of the one under way, or be taken for that of another request.
  if (isAnswering(socket)) {
    socket.end();
    return;
  }
  const statuses: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };
  const status = statuses[error.code ?? ''] ?? 400;
  const body = JSON.stringify({ code: 'BadRequest', message: `not a valid HTTP request: ${error.message}` });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function createSocketServer(options: ListenOptions): Server {
  const handler = createHandler(options);
  const { tls } = options;
  const server =
    tls === undefined ? createServer(serverOptions) : createTlsServer({ ...serverOptions, cert: tls.certificate, key: tls.key });
  server.on('request', handler(false));
  server.on('checkContinue', handler(true));
  server.on('clientError', refuseMalformed);
  return server;
}

function bind(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function closeServer(server: Server, patience: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), patience);
    // Connections fall idle one by one as their requests finish; nothing tells when.
    const sweep = setInterval(() => server.closeIdleConnections(), 20);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(sweep);
      resolve();
    });
  });
}

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

/** Binds the same port of the IPv6 loopback too, where there is one: `localhost` may mean either. */
async function bindBoth(options: ListenOptions, port: number): Promise<{ servers: Server[]; port: number }> {
  const server = createSocketServer(options);
  const bound = await bind(server, '127.0.0.1', port);
  const second = createSocketServer(options);
  try {
    await bind(second, '::1', bound);
    return { servers: [server, second], port: bound };
  } catch (error) {
    if (!isInUse(error)) return { servers: [server], port: bound };
    await closeServer(server, 0);
    throw error;
  }
}

async function bindLoopback(options: ListenOptions): Promise<{ servers: Server[]; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await bindBoth(options, options.port);
    } catch (error) {
      if (options.port !== 0 || attempt === 5 || !isInUse(error)) throw error;
    }
  }
}

async function bindOne(options: ListenOptions): Promise<{ servers: Server[]; port: number }> {
  const server = createSocketServer(options);
  return { servers: [server], port: await bind(server, options.host, options.port) };
}

/**
 * Makes a service reachable at a port. Where this machine reaches it as `localhost`, the URL says so.
 * @throws {LocalError} when the port is taken or cannot be used.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, tls } = options;
  const isLoopback = host === '127.0.0.1' || host === 'localhost';
  // Who listens everywhere is reached on this machine too, under the name that the certificate has.
  const isHere = isLoopback || ['0.0.0.0', '::', '::1'].includes(host);
  try {
    const { servers, port } = await (isLoopback ? bindLoopback(options) : bindOne(options));
    const shownHost = isHere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
    return {
      port,
      url: `${tls === undefined ? 'http' : 'https'}://${shownHost}:${port}`,
      close: async (patience = 5000) => {
        await Promise.all(servers.map((server) => closeServer(server, patience)));
      },
    };
  } catch (error) {
    throw explainBinding(error, host, options.port);
  }
}
