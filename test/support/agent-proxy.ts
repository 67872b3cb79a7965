import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import { afterAll } from 'vitest';

/** The message by which an agent is asked for a signature (SSH agent protocol, section 5.1). */
const signRequest = 13;

/** Stands before a real ssh-agent and counts the signatures that it is asked for. */
export interface AgentProxy {
  readonly signatures: () => number;
}

/** Kinds of the messages in a stream: each has its length in four bytes, then its kind. */
function createReader(told: (kind: number | undefined) => void): (piece: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (piece) => {
    rest = Buffer.concat([rest, piece]);
    while (rest.length >= 5 && rest.length >= 4 + rest.readUInt32BE(0)) {
      told(rest[4]);
      rest = rest.subarray(4 + rest.readUInt32BE(0));
    }
  };
}

/** Listens at `path` for whoever wants the agent at `socket`. */
export async function startAgentProxy(path: string, socket: string): Promise<AgentProxy> {
  let signatures = 0;
  const server = createServer((client: Socket) => {
    const agent = createConnection(socket);
    const read = createReader((kind) => {
      if (kind === signRequest) signatures += 1;
    });
    client.on('data', read);
    for (const [from, to] of [
      [client, agent],
      [agent, client],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
    }
  });
  server.listen(path);
  await once(server, 'listening');
  afterAll(() => void server.close());
  return { signatures: () => signatures };
}
