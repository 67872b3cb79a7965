import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { streamOf, type HttpResponse } from '../../../src/api/message.ts';
import { createAuthority, createServerCertificate, type CertifiedKey } from '../../../src/auth/authority.ts';
import { computePoolLimits, createConnectionPool } from '../../../src/server/http/connection-pool.ts';
import { listen, type Listener } from '../../../src/server/http/listen.ts';
import type { ListenOptions } from '../../../src/server/http/socket-server.ts';

const listeners: Listener[] = [];
const sockets: Socket[] = [];
const log: string[] = [];
let tls: CertifiedKey;

beforeAll(async () => {
  tls = await createServerCertificate(await createAuthority('Test'), ['localhost']);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(listeners.splice(0).map((listener) => listener.close(0)));
  log.length = 0;
});

const answer = async (): Promise<HttpResponse> => ({ status: 200, headers: { 'content-length': '2' }, body: streamOf(Buffer.from('ok')) });

async function serve(options: Partial<ListenOptions>, limits?: { connections: number; perAddress: number }): Promise<Listener> {
  const write = (line: string): void => void log.push(line);
  const pool = createConnectionPool(write, limits);
  const listener = await listen({ handle: answer, host: '127.0.0.1', port: 0, log: write, pool, ...options });
  listeners.push(listener);
  return listener;
}

/** Connects and sends nothing. */
async function openSilent({ port }: Listener, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => undefined);
  socket.resume();
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** What the service answers to a request of its own connection; empty when it ends without an answer. */
async function ask(
  { port, url }: Listener,
  { localAddress = '127.0.0.1', connection = 'close' }: { localAddress?: string; connection?: string } = {},
): Promise<string> {
  const options = { port, host: '127.0.0.1', localAddress, rejectUnauthorized: false };
  const socket = url.startsWith('https') ? connectTls(options) : connect(options);
  sockets.push(socket);
  socket.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\n\r\n`);
  if (connection === 'close') return text(socket).catch(() => '');
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  return bytes.toString();
}

test('a client that does not begin the TLS handshake is disconnected after its limit, and its descriptor is back', async () => {
  const listener = await serve({
    tls: { certificate: tls.certificate, key: tls.key },
    settings: { serviceLimits: { handshakeMilliseconds: 300 } },
  });
  const silent = await Promise.all(Array.from({ length: 20 }, () => openSilent(listener)));
  // Some leave before, as health checks do: with an orderly end, or without.
  silent[0]?.end();
  silent[1]?.destroy();
  await Promise.all(silent.filter(({ destroyed }) => !destroyed).map((socket) => once(socket, 'close')));
  expect(await ask(listener)).toContain('ok');
});

test.each([true, false])('closing ends silent connections at once (TLS: %s)', async (secure) => {
  const listener = await serve(secure ? { tls: { certificate: tls.certificate, key: tls.key } } : {});
  const silent = await Promise.all(Array.from({ length: 5 }, () => openSilent(listener)));
  silent[0]?.write('GET / HT');
  await sleep(50);
  // Longer than a test may take.
  await listener.close(600_000);
});

test('closing ends what does not end by itself when its time is over', async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.alloc(100_000);
  }
  const listener = await serve({ handle: async () => ({ status: 200, headers: {}, body: endless() }) });
  const socket = await openSilent(listener);
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await sleep(50);
  await listener.close(200);
});

describe('limits of connections', () => {
  test('follow from the limit of descriptors', () => {
    expect(computePoolLimits({}, 256)).toEqual({ connections: 96, perAddress: 72 });
    expect(computePoolLimits({}, 1_048_576)).toEqual({ connections: 10_000, perAddress: 7500 });
    expect(computePoolLimits({}, 10)).toEqual({ connections: 16, perAddress: 12 });
    expect(computePoolLimits({}, Infinity).connections).toBe(10_000);
    expect(computePoolLimits({ serviceLimits: { connections: 8 } }, 256)).toEqual({ connections: 8, perAddress: 6 });
  });

  test('the oldest idle connection makes room for a new one, and the log says so', async () => {
    const listener = await serve({}, { connections: 8, perAddress: 8 });
    const silent: Socket[] = [];
    for (let count = 0; count < 8; count += 1) silent.push(await openSilent(listener));
    expect(await ask(listener)).toContain('ok');
    await expect.poll(() => silent.map(({ destroyed }) => destroyed)).toEqual([true, ...Array.from({ length: 7 }, () => false)]);
    expect(log.join('\n')).toMatch(/limit connections reached \(8, 8 per address\): closed 1 idle/u);
  });

  test('one address has only its share', async () => {
    const listener = await serve({}, { connections: 8, perAddress: 4 });
    const other = await openSilent(listener, '127.0.0.9');
    const silent: Socket[] = [];
    for (let count = 0; count < 20; count += 1) silent.push(await openSilent(listener));
    await expect.poll(() => silent.filter(({ destroyed }) => !destroyed).length).toBe(4);
    expect(other.destroyed).toBe(false);
    expect(await ask(listener, { localAddress: '127.0.0.8' })).toContain('ok');
  });

  test('a connection whose request had a valid signature goes after those without', async () => {
    const handle: ListenOptions['handle'] = async (_, connection) => {
      connection.authenticated?.();
      return answer();
    };
    const listener = await serve({ handle }, { connections: 3, perAddress: 3 });
    expect(await ask(listener, { connection: 'keep-alive' })).toContain('ok');
    const signed = sockets.at(-1);
    for (let count = 0; count < 10; count += 1) await openSilent(listener);
    expect(signed?.destroyed).toBe(false);
  });

  test('where no connection is idle, a new one is refused', async () => {
    let finish = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let begun = 0;
    const handle = async (): Promise<HttpResponse> => {
      begun += 1;
      await held;
      return answer();
    };
    const listener = await serve({ handle }, { connections: 2, perAddress: 2 });
    const under = [ask(listener), ask(listener)];
    await expect.poll(() => begun).toBe(2);
    expect(await ask(listener)).toBe('');
    finish();
    expect((await Promise.all(under)).every((each) => each.includes('ok'))).toBe(true);
    expect(log.join('\n')).toMatch(/rejected 1 new connections/u);
  });

  test('all listeners of a process share one limit', async () => {
    const pool = createConnectionPool((line) => void log.push(line), { connections: 4, perAddress: 4 });
    const [first, second] = [await serve({ pool }), await serve({ pool })];
    const silent: Socket[] = [];
    for (let count = 0; count < 4; count += 1) silent.push(await openSilent(first));
    expect(await ask(second)).toContain('ok');
    await expect.poll(() => silent[0]?.destroyed).toBe(true);
  });
});
