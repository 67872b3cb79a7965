import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** What a bad service does with a connection once the head of a request has come. */
export type Misdeed = (socket: Socket, head: string) => void | Promise<void>;

/** A server that answers as it likes. */
export interface BadService {
  readonly url: string;
  /** Heads of the requests that came. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** Starts a server on the loopback that does this to every request. */
export async function startBadService(misdeed: Misdeed): Promise<BadService> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let head = '';
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      head += piece.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      requests.push(head);
      const whole = head;
      head = '';
      void misdeed(socket, whole);
    });
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Writes the same piece for as long as it is read. */
export async function writeForever(socket: Socket, piece: string | Buffer): Promise<void> {
  while (!socket.destroyed) {
    if (socket.write(piece)) await new Promise<void>((resolve) => void setImmediate(resolve));
    else {
      await new Promise<void>((resolve) => {
        const goOn = (): void => {
          socket.off('drain', goOn).off('close', goOn);
          resolve();
        };
        socket.on('drain', goOn).on('close', goOn);
      });
    }
  }
}
