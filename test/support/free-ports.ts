import { createServer } from 'node:net';

/** Below those that the system gives out by itself: nothing but a test like this one takes them. */
const [lowest, highest] = [20_000, 32_000];

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** The first of `count` ports of the loopback that follow each other and are free, for programs that cannot choose their own. */
export async function findPorts(count: number): Promise<number> {
  for (;;) {
    const first = lowest + Math.floor(Math.random() * (highest - lowest - count));
    const free = await Promise.all(Array.from({ length: count }, (_, at) => isFree(first + at)));
    if (free.every(Boolean)) return first;
  }
}
