import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server that can be cut as a network is, and can lead to another one. */
export interface NetworkGate {
  readonly port: number;
  /** From now on nothing moves either way, and no end of a connection hears why. */
  cut(): void;
  /** What was sent meanwhile arrives. */
  mend(): void;
  /** New connections lead to another socket; those that are open end. */
  lead(socket: string): void;
  close(): Promise<void>;
}

/** Opens a way on the loopback to a Unix socket, or to a port of the loopback. */
export async function openGate(target: string | number): Promise<NetworkGate> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isCut = false;
  let place = target;
  const server = createServer({ pauseOnConnect: true }, (near) => {
    const far = typeof place === 'number' ? connect(place, '127.0.0.1') : connect(place);
    const pair = [near, far] as const;
    pairs.add(pair);
    const pass = (from: Socket, to: Socket): void => {
      from.on('data', (piece: Buffer) => {
        if (!to.write(piece)) from.pause();
      });
      to.on('drain', () => (isCut ? undefined : from.resume()));
      // While nothing moves the other end hears of no end either.
      from.on('close', () => {
        if (!isCut) to.destroy();
      });
      from.on('error', () => from.destroy());
    };
    pass(near, far);
    pass(far, near);
    far.on('close', () => pairs.delete(pair));
    if (isCut) far.pause();
    else near.resume();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const endAll = (): void => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    pairs.clear();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => {
      isCut = true;
      for (const pair of pairs) for (const socket of pair) socket.pause();
    },
    mend: () => {
      isCut = false;
      for (const [near, far] of pairs) {
        // An end that has gone meanwhile.
        if (near.destroyed || far.destroyed) for (const socket of [near, far]) socket.destroy();
        else for (const socket of [near, far]) socket.resume();
      }
    },
    lead: (socket) => {
      place = socket;
      endAll();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        endAll();
      }),
  };
}
