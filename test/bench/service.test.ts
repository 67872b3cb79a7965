import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { median, report } from '../support/figures.ts';
import { generateLoad } from '../support/load.ts';
import { useLocal, type LocalInfo } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';
import { openServices, type SignedServices } from '../support/signed.ts';

/**
 * Requests in a second that the service answers, as ratios to a bare `node:http` server that does nothing but verify the same signature,
 * asked in turns by the same load generator. Neither has TLS: what it costs is the same for both.
 */

const user = useLocal('--http');
const concurrency = 32;
const count = scale(2000, 20_000);
const rounds = scale(1, 5);
const content = randomBytes(4096);
const entries = 200;
let bare: ChildProcess;
let bareUrl: string;

/** What any service of this kind has to do at least: read the request, verify its signature, answer. */
const bareServer = `
const { createServer } = require('node:http');
const { createPublicKey, verify } = require('node:crypto');
const { readFileSync } = require('node:fs');
const key = createPublicKey(readFileSync(process.argv[2]));
const object = Buffer.alloc(4096, 'x');
const listing = Buffer.from(readFileSync(process.argv[3]));
const server = createServer((request, response) => {
  const signature = /signature="([^"]+)"/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const isRight = verify('sha256', Buffer.from('date: ' + request.headers.date), key, Buffer.from(signature, 'base64'));
  request.on('data', () => undefined);
  request.on('end', () => {
    if (!isRight) response.writeHead(403).end();
    else if (request.method === 'PUT') response.writeHead(204).end();
    else response.end(request.url.endsWith('many') ? listing : object);
  });
});
server.keepAliveTimeout = 65000;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

beforeAll(async () => {
  const services = await openServices(user.local, concurrency);
  const directory = { headers: { 'content-type': 'application/json; type=directory' } };
  await services.send('storage', 'PUT', '/demo/stor/many', directory);
  await services.send('storage', 'PUT', '/demo/stor/puts', directory);
  for (let number = 0; number < entries; number += 1) await services.send('storage', 'PUT', `/demo/stor/many/${number}`, { body: content });
  const listing = await services.send('storage', 'GET', '/demo/stor/many');
  await services.close();
  const file = user.write('bare.cjs', bareServer);
  bare = spawn(process.execPath, [file, user.local.keyFile, user.write('listing', listing.bytes)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  bareUrl = await new Promise((resolve) => {
    bare.stdout?.once('data', (port: Buffer) => resolve(`http://127.0.0.1:${port.toString().trim()}`));
  });
});
afterAll(() => void bare.kill());

/** Most memory of a process so far, MiB. */
function peakOf(pid: number | undefined): number {
  const [, kibibytes = ''] = /VmHWM:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8')) ?? [];
  return Math.round(Number(kibibytes) / 1024);
}

type Ask = (services: SignedServices, number: number) => Promise<{ status: number }>;

async function measure(local: LocalInfo, ask: Ask, expected: number): Promise<number> {
  const services = await openServices(local, concurrency);
  const rate = await generateLoad({ count, concurrency }, async (number) => {
    const { status } = await ask(services, number);
    if (status !== expected) throw new Error(`answered ${status}`);
  });
  await services.close();
  return rate;
}

/** What is asked for, the status that answers it, and the least ratio to the bare server. */
const works: readonly [string, Ask, number, number][] = [
  ['signed GET of 4 KiB', (services, number) => services.send('storage', 'GET', `/demo/stor/many/${number % entries}`), 200, 0.08],
  [
    'signed PUT of 4 KiB, on the disk',
    (services, number) => services.send('storage', 'PUT', `/demo/stor/puts/${number}`, { body: content }),
    204,
    0.03,
  ],
  [`signed listing of ${entries} entries`, (services) => services.send('storage', 'GET', '/demo/stor/many'), 200, 0.03],
];

test.each(works)('%s, in a second', { timeout: 600_000 }, async (name, ask, expected, least) => {
  const [ours, theirs]: [number[], number[]] = [[], []];
  const bareLocal = { ...user.local, storUrl: bareUrl };
  await measure(user.local, ask, expected);
  for (let round = 0; round < rounds; round += 1) {
    ours.push(await measure(user.local, ask, expected));
    theirs.push(await measure(bareLocal, ask, expected));
  }
  const [a, b] = [median(ours), median(theirs)];
  expect(a).toBeGreaterThan(0);
  report('bench', {
    name: `${name}, ${concurrency} at once; bare server that verifies it`,
    ours: `${Math.round(a)}/s, at most ${peakOf(user.local.pid)} MiB`,
    theirs: `${Math.round(b)}/s, ${peakOf(bare.pid)} MiB`,
    ratio: a / b,
    least,
  });
});
