import { createHash, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAll } from '../../../src/api/message.ts';
import { createAuthority, createServerCertificate } from '../../../src/auth/authority.ts';
import { createSocketSender } from '../../../src/http/sockets.ts';
import type { Sender } from '../../../src/http/send.ts';

/** Long enough to be taken past the parser, as bodies from 8 MiB are. */
const content = randomBytes(12 * 1024 * 1024 + 7);
let server: Server;
let base: string;
let ca: string;
let sender: Sender;
let connections = 0;

beforeAll(async () => {
  const authority = await createAuthority('Test');
  const own = await createServerCertificate(authority, ['localhost']);
  server = createServer({ cert: own.certificate, key: own.key }, (request, response) => {
    const [, path = '', bytes] = /^\/([a-z]*)(?:\/(\d+))?$/.exec(request.url ?? '') ?? [];
    if (path === '') return void response.writeHead(204).end();
    if (path === 'first') return void response.writeHead(200, { 'content-length': Number(bytes) }).end(content.subarray(0, Number(bytes)));
    response.writeHead(200, path === 'chunked' ? {} : { 'content-length': content.length });
    if (path === 'cut') return void response.write(content.subarray(0, Number(bytes)), () => response.destroy());
    if (path === 'stall') return void response.write(content.subarray(0, Number(bytes)));
    return void response.end(content);
  });
  server.on('secureConnection', () => {
    connections += 1;
  });
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  base = `https://localhost:${(server.address() as AddressInfo).port}`;
  ca = authority.certificate;
  sender = open(patient);
});
afterAll(() => {
  sender.close();
  server.closeAllConnections();
  server.close();
});

/** Milliseconds in which even a busy machine has something to say. */
const patient = 60_000;

function open(idleTimeout: number): Sender {
  return createSocketSender({ connectTimeout: patient, idleTimeout, ca, insecure: false, connections: 2 });
}

async function get(path: string, by = sender): Promise<AsyncIterable<Uint8Array>> {
  return (await by.send({ method: 'GET', url: new URL(path, base), headers: {} })).body;
}

const whole = createHash('sha256').update(content).digest('hex');

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** What came before a failure, and the failure. */
async function readUntilFailure(path: string, by = sender): Promise<{ bytes: Buffer; error: unknown }> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of await get(path, by)) pieces.push(piece);
  } catch (error) {
    return { bytes: Buffer.concat(pieces), error };
  }
  throw new Error(`${path} did not fail`);
}

test.each(['/whole', '/chunked'])(
  '%s comes byte for byte, in far fewer pieces than it was sent in when its length is known',
  async (path) => {
    let count = 0;
    async function* counted(): AsyncGenerator<Uint8Array> {
      for await (const piece of await get(path)) {
        count += 1;
        yield piece;
      }
    }
    expect(digest(await readAll(counted()))).toBe(whole);
    if (path === '/whole') expect(count).toBeLessThan(content.length / 16_384 / 2);
  },
);

test('who takes the pieces slowly, and keeps all of them, has each as it came', async () => {
  const pieces: Uint8Array[] = [];
  for await (const piece of await get('/whole')) {
    pieces.push(piece);
    if (pieces.length % 50 === 0) await sleep(5);
  }
  expect(digest(Buffer.concat(pieces))).toBe(whole);
});

test.each([1, 100_000, 10 * 1024 * 1024])('one that is cut after %d bytes gives these, and then fails', async (bytes) => {
  const { bytes: came, error } = await readUntilFailure(`/cut/${bytes}`);
  expect(error).toMatchObject({ code: 'ECONNRESET' });
  expect(digest(came)).toBe(digest(content.subarray(0, came.length)));
  expect(came.length).toBeGreaterThan(0);
  expect(came.length).toBeLessThanOrEqual(bytes);
});

test('one that stalls gives what came, and then fails for its silence', async () => {
  const impatient = open(1000);
  const { bytes, error } = await readUntilFailure('/stall/100000', impatient);
  impatient.close();
  expect(error).toMatchObject({ code: 'IDLE' });
  expect(digest(bytes)).toBe(digest(content.subarray(0, bytes.length)));
  expect(bytes.length).toBeGreaterThan(0);
});

test('a signal ends one', async () => {
  const stop = new AbortController();
  const { body } = await sender.send({ method: 'GET', url: new URL('/whole', base), headers: {}, signal: stop.signal });
  await expect(
    (async () => {
      for await (const piece of body) if (piece.length > 0) stop.abort();
    })(),
  ).rejects.toMatchObject({ name: expect.stringMatching(/Error/) as string });
});

test('one that is left early lets go of its connection; short responses go on sharing theirs', async () => {
  for await (const piece of await get('/whole')) {
    expect(piece.length).toBeGreaterThan(0);
    break;
  }
  await readAll(await get('/'));
  const before = connections;
  for (let round = 0; round < 5; round += 1) await readAll(await get('/'));
  expect(connections).toBe(before);
});

test('a connection that was paused before the end of a body is read again for the next response', async () => {
  const own = open(2000);
  // From 2 MiB on a connection is paused; what TLS has decrypted by then still arrives.
  for (let size = 2 * 1024 * 1024; size < 2.2 * 1024 * 1024; size += 10_000) {
    const body = await get(`first/${size}`, own);
    // Everything has arrived before the first byte is read.
    await sleep(20);
    expect([size, (await readAll(body)).length]).toEqual([size, size]);
    expect([size, await readAll(await get('', own))]).toEqual([size, Buffer.alloc(0)]);
  }
  own.close();
});
