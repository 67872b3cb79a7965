import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestPostgres } from './postgres.ts';

/** PostgreSQL as it is reached from another machine: each message to it takes some milliseconds longer. */
export interface DelayedServer {
  url(database: string): string;
  close(): void;
}

/** Carries connections to the socket of a server, and keeps what is sent to it back for some milliseconds. */
const proxyProgram = `
const { createServer, connect } = require('node:net');
const [path, delay] = [process.argv[1], Number(process.argv[2])];
const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect(path);
  client.on('data', (bytes) => setTimeout(() => upstream.write(bytes), delay));
  upstream.on('data', (bytes) => client.write(bytes));
  for (const [socket, other] of [[client, upstream], [upstream, client]]) {
    socket.on('error', () => undefined);
    socket.on('close', () => setTimeout(() => other.destroy(), delay));
  }
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit());
`;

/** Opens a way to a server that delays what is sent to it, in a process of its own. @param delay milliseconds */
export async function delayConnections({ folder }: TestPostgres, delay: number): Promise<DelayedServer> {
  const proxy = spawn(process.execPath, ['-e', proxyProgram, join(folder, '.s.PGSQL.5432'), String(delay)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const port = await new Promise<string>((resolve) => proxy.stdout.once('data', (line: Buffer) => resolve(line.toString().trim())));
  return { url: (database) => `postgresql://cloud@127.0.0.1:${port}/${database}`, close: () => void proxy.kill() };
}
