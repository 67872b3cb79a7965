import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { takeListeners } from './first-byte.ts';
import { InvalidProxyHeader, readProxyHeader } from './proxy-header.ts';
import { createRepeatedLog } from './repeated-log.ts';

/** Client addresses received from load balancers, by connection. */
export type ClientAddresses = WeakMap<Socket, string>;

/** Which connections have a header, and how to wait for it. */
export interface ProxyOptions {
  /** True for addresses of load balancers. */
  readonly isBalancer: (address: string) => boolean;
  /** Milliseconds that a load balancer has to send its header. */
  readonly patienceMs: number;
  /** Maximum number of connections waiting for their header. */
  readonly mostWaiting: number;
  readonly log: (line: string) => void;
}

/** Waits for the header at the beginning of a connection, and puts back what follows it. A connection without a header is closed. */
function awaitHeader(socket: Socket, patienceMs: number, take: (address: string | undefined) => void, logRefused: () => void): void {
  let received: Buffer = Buffer.alloc(0);
  const end = (): void => {
    socket.off('readable', read).destroy();
  };
  const timer = setTimeout(() => {
    logRefused();
    end();
  }, patienceMs);
  function read(): void {
    const bytes = socket.read() as Buffer | null;
    // The connection has ended.
    if (bytes === null) return end();
    received = Buffer.concat([received, bytes]);
    try {
      const header = readProxyHeader(received);
      if (header === undefined) return undefined;
      clearTimeout(timer);
      socket.off('readable', read);
      const rest = received.subarray(header.length);
      if (rest.length > 0) socket.unshift(rest);
      return take(header.address);
    } catch (error) {
      if (!(error instanceof InvalidProxyHeader)) throw error;
      logRefused();
      return end();
    }
  }
  // Without a listener, an abrupt end of the connection would end the process; the receiver of the connection has its own.
  socket.on('error', () => undefined);
  socket.on('readable', read).once('close', () => clearTimeout(timer));
}

/**
 * Makes a server take client addresses from load balancers. Its connection listeners get a load balancer's connection when its header has
 * arrived, with the bytes after the header unread. Headers from other addresses are not interpreted.
 * @param server a server that already has all its connection listeners
 * @param addresses receives the client addresses
 * @returns a function that closes the connections whose header has not arrived
 */
export function acceptProxied(
  server: Server,
  addresses: ClientAddresses,
  { isBalancer, patienceMs, mostWaiting, log }: ProxyOptions,
): () => void {
  const waiting = new Set<Socket>();
  const logRefused = createRepeatedLog(log, (count) => `closed ${count} connections of balancers without a valid PROXY header`);
  const accept = takeListeners(server);
  server.on('connection', (socket: Socket) => {
    if (!isBalancer(socket.remoteAddress ?? '')) return accept(socket);
    if (waiting.size >= mostWaiting) {
      logRefused();
      socket.destroy();
      return undefined;
    }
    waiting.add(socket);
    socket.once('close', () => waiting.delete(socket));
    const take = (address: string | undefined): void => {
      waiting.delete(socket);
      if (address !== undefined) addresses.set(socket, address);
      accept(socket);
    };
    return awaitHeader(socket, patienceMs, take, logRefused);
  });
  return () => waiting.forEach((socket) => socket.destroy());
}
