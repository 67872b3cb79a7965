import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** First byte of a TLS handshake record; no method of HTTP begins with it. */
const handshakeRecord = 0x16;

/** Where the connections to a TLS port go, once their first byte is known. */
interface Destinations {
  readonly acceptTls: (socket: Socket) => void;
  readonly acceptPlain: (socket: Socket) => void;
  /** Milliseconds that a client has for its first byte. */
  readonly patienceMs: number;
}

/** Waits for the first bytes of a connection and hands it on with these bytes unread; one that sends none is ended. */
function sortConnection(socket: Socket, { acceptTls, acceptPlain, patienceMs }: Destinations): void {
  const timer = setTimeout(() => socket.destroy(), patienceMs);
  const ignoreError = (): void => undefined;
  // Without a listener an abrupt end of the connection would end the process; whoever takes the connection has its own.
  socket.on('error', ignoreError);
  socket.once('close', () => clearTimeout(timer));
  socket.once('readable', () => {
    clearTimeout(timer);
    const bytes = socket.read() as Buffer | null;
    if (bytes === null) {
      socket.destroy();
      return;
    }
    socket.unshift(bytes);
    (bytes[0] === handshakeRecord ? acceptTls : acceptPlain)(socket);
  });
}

/**
 * Lets a TLS server pass on connections that speak plain HTTP. Its own listener for connections is called for those that begin a handshake.
 * @param server before anything else listens for its connections
 */
export function splitPlainHttp(server: Server, acceptPlain: (socket: Socket) => void, patienceMs: number): void {
  const accept = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  server.removeAllListeners('connection');
  const acceptTls = (socket: Socket): void => accept.forEach((listener) => listener.call(server, socket));
  server.on('connection', (socket: Socket) => sortConnection(socket, { acceptTls, acceptPlain, patienceMs }));
}
