import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** First byte of a TLS handshake record; no HTTP method begins with it. */
const handshakeRecord = 0x16;

/** Receivers of the connections to a TLS port, chosen by the first byte. */
interface Destinations {
  readonly acceptTls: (socket: Socket) => void;
  readonly acceptPlain: (socket: Socket) => void;
  /** Milliseconds that a client has for its first byte. */
  readonly patienceMs: number;
}

/** Waits for the first bytes of a connection, and passes it on with these bytes unread; a connection that sends none is closed. */
function sortConnection(socket: Socket, { acceptTls, acceptPlain, patienceMs }: Destinations): void {
  const timer = setTimeout(() => socket.destroy(), patienceMs);
  const ignoreError = (): void => undefined;
  // Without a listener, an abrupt end of the connection would end the process; the receiver of the connection has its own.
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
 * Makes a TLS server pass on connections that speak plain HTTP. Its own connection listener is called for those that begin a handshake.
 * @param server a server without other listeners for connections
 */
export function splitPlainHttp(server: Server, acceptPlain: (socket: Socket) => void, patienceMs: number): void {
  const acceptTls = takeListeners(server);
  server.on('connection', (socket: Socket) => sortConnection(socket, { acceptTls, acceptPlain, patienceMs }));
}

/** Removes the connection listeners of a server. @returns a function that calls them */
export function takeListeners(server: Server): (socket: Socket) => void {
  const listeners = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  server.removeAllListeners('connection');
  return (socket) => listeners.forEach((listener) => listener.call(server, socket));
}
