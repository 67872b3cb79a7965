import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to PostgreSQL on which the round trips of its clients are counted. */
export interface CountedWay {
  readonly url: string;
  /** What clients waited for since the last call, in order: the statements of each round trip. */
  take(): string[];
  close(): Promise<void>;
}

/** Reads messages of a client (PostgreSQL documentation, 53.7): after the first, each has a letter and its length. */
function createReader(tell: (statement: string) => void): (piece: Buffer) => void {
  let held = Buffer.alloc(0);
  let isStarted = false;
  let statement = '';
  const prepared = new Map<string, string>();
  return (piece) => {
    held = Buffer.concat([held, piece]);
    for (;;) {
      const start = isStarted ? 1 : 0;
      if (held.length < start + 4) return;
      const end = start + held.readUInt32BE(start);
      if (held.length < end) return;
      const [type, content] = [isStarted ? String.fromCharCode(held[0] ?? 0) : '', held.toString('utf8', start + 4, end)];
      isStarted = true;
      held = held.subarray(end);
      // Parse: a statement's name, then its text. Bind: the name of a portal, then that of the statement.
      const [first = '', second = ''] = content.split('\0', 2);
      if (type === 'P') prepared.set(first, second);
      if (type === 'B') statement = prepared.get(second) ?? '';
      if (type === 'Q') tell(content.replaceAll('\0', ''));
      // Sync: the client waits for all that it has sent.
      if (type === 'S') tell(statement);
    }
  };
}

/** Opens a way on the loopback. @param url of a database on a Unix socket, as `createDatabase` has it */
export async function countRoundTrips(url: string): Promise<CountedWay> {
  const { pathname, searchParams } = new URL(url);
  const sockets = new Set<Socket>();
  let statements: string[] = [];
  const server = createServer((near) => {
    const far = connect(`${searchParams.get('host')}/.s.PGSQL.5432`);
    const read = createReader((statement) => void statements.push(statement));
    near.on('data', read);
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => [near, far].forEach((each) => each.destroy()));
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `postgresql://${searchParams.get('user')}@127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    take: () => {
      const taken = statements;
      statements = [];
      return taken;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}
