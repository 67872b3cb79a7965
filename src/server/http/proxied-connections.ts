import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { InvalidProxyHeader, readProxyHeader } from './proxy-header.ts';
import { createRepeatedLog } from './repeated-log.ts';

/** Addresses of clients that balancers have told. */
export type ClientAddresses = WeakMap<Socket, string>;

/** Which connections have a header, and how it is waited for. */
export interface ProxyOptions {
  /** True for addresses of balancers. */
  readonly isBalancer: (address: string) => boolean;
  /** Milliseconds that a balancer has for its header. */
  readonly patienceMs: number;
  /** Most connections whose header is waited for. */
  readonly mostWaiting: number;
  readonly log: (line: string) => void;
}

/** Waits for the header at the beginning of a connection, and puts back what follows it. A connection without one is ended. */
function awaitHeader(socket: Socket, patienceMs: number, take: (address: string | undefined) => void, refuse: () => void): void {
  let received: Buffer = Buffer.alloc(0);
  const end = (): void => {
    socket.off('readable', read).destroy();
  };
  const timer = setTimeout(() => {
    refuse();
    end();
  }, patienceMs);
  function read(): void {
    const bytes = socket.read() as Buffer | null;
    // The end of the connection.
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
      refuse();
      return end();
    }
  }
  // Without a listener an abrupt end of the connection would end the process; whoever takes the connection has its own.
  socket.on('error', () => undefined);
  socket.on('readable', read).once('close', () => clearTimeout(timer));
}

/**
 * Lets a server take the addresses of clients from balancers. All that listens for its connections gets those of balancers when their
 * header has come, with the bytes behind it unread. From other addresses nothing is taken for a header.
 * @param server when everything else listens for its connections
 * @param addresses where the addresses are put
 * @returns ends the connections whose header has not come
 */
export function acceptProxied(
  server: Server,
  addresses: ClientAddresses,
  { isBalancer, patienceMs, mostWaiting, log }: ProxyOptions,
): () => void {
  const waiting = new Set<Socket>();
  const refuse = createRepeatedLog(log, (count) => `closed ${count} connections of balancers without a valid PROXY header`);
  const listeners = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  server.removeAllListeners('connection');
  const accept = (socket: Socket): void => listeners.forEach((listener) => listener.call(server, socket));
  server.on('connection', (socket: Socket) => {
    if (!isBalancer(socket.remoteAddress ?? '')) return accept(socket);
    if (waiting.size >= mostWaiting) {
      refuse();
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
    return awaitHeader(socket, patienceMs, take, refuse);
  });
  return () => waiting.forEach((socket) => socket.destroy());
}
