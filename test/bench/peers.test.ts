import { spawn, type ChildProcess } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { median, report } from '../support/figures.ts';
import { measureLoad } from '../support/load.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';
import { openServices, type SignedServices } from '../support/signed.ts';

/**
 * Requests in a second over TLS, next to Azurite, the best known emulator of another object storage, where it is installed:
 * `npm i --prefix DIR azurite`, then `CLOUD_PEERS=DIR`. Both verify a signature with each request. This service has what it acknowledged
 * on the disk, the other one does not wait for that.
 */

const program = join(process.env['CLOUD_PEERS'] ?? '', 'node_modules/azurite/dist/src/blob/main.js');
const user = useLocal();
const concurrency = 32;
const count = scale(500, 5000);
const rounds = scale(1, 5);
const entries = 200;
const content = randomBytes(4096);
const account = 'demo';
const secret = randomBytes(32);

let azurite: ChildProcess;
let pool: Pool;
let services: SignedServices;

/** Sends a request that is signed with the account's secret. @param query of a listing, sorted by name */
async function send(method: string, path: string, query: readonly (readonly [string, string])[] = [], body?: Buffer): Promise<number> {
  const own = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2021-12-02' };
  const headers: Readonly<Record<string, string>> = body && path.includes('/') ? { 'x-ms-blob-type': 'BlockBlob', ...own } : own;
  const resource = `/${account}/${account}/${path}${query.map(([name, value]) => `\n${name}:${value}`).join('')}`;
  const length = body === undefined || body.length === 0 ? '' : String(body.length);
  const signedHeaders = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const text = `${method}\n\n\n${length}\n\n\n\n\n\n\n\n\n${signedHeaders.join('')}${resource}`;
  const signature = createHmac('sha256', secret).update(text).digest('base64');
  const target = query.length === 0 ? '' : `?${query.map((pair) => pair.join('=')).join('&')}`;
  const { statusCode, body: answer } = await pool.request({
    method,
    path: `/${account}/${path}${target}`,
    headers: {
      ...headers,
      authorization: `SharedKey ${account}:${signature}`,
      ...(body && { 'content-length': String(body.length) }),
    },
    body: body ?? null,
  });
  await answer.arrayBuffer();
  return statusCode;
}

/** Starts it with the certificate of the local service. @returns its URL */
async function startAzurite(): Promise<string> {
  const location = join(user.home, 'azurite');
  mkdirSync(location);
  const tls = join(user.local.dataDir, 'tls');
  const words = ['--blobPort', '0', '--location', location, '--disableTelemetry', '--skipApiVersionCheck', '--silent'];
  azurite = spawn(process.execPath, [program, ...words, '--cert', join(tls, 'server.pem'), '--key', join(tls, 'server.key.pem')], {
    env: { PATH: process.env['PATH'], HOME: user.home, AZURITE_ACCOUNTS: `${account}:${secret.toString('base64')}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    let said = '';
    azurite.once('exit', (code) => reject(new Error(`azurite ended with ${code}: ${said}`)));
    azurite.stdout?.on('data', (piece: Buffer) => {
      said += piece.toString();
      const [url] = /https:\/\/[\d.]+:\d+/u.exec(said) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
}

/** What both are asked for, and the status that answers it. */
const works: readonly {
  readonly name: string;
  readonly ours: (number: number) => Promise<{ status: number }>;
  readonly theirs: (number: number) => Promise<number>;
}[] = [
  {
    name: 'GET of 4 KiB over TLS, 32 at once',
    ours: (number) => services.send('storage', 'GET', `/demo/stor/many/${number % entries}`),
    theirs: (number) => send('GET', `many/${number % entries}`),
  },
  {
    name: 'PUT of 4 KiB over TLS, 32 at once',
    ours: (number) => services.send('storage', 'PUT', `/demo/stor/puts/${number}`, { body: content }),
    theirs: (number) => send('PUT', `puts/${number}`, [], content),
  },
  {
    name: `listing of ${entries} entries over TLS, 32 at once`,
    ours: () => services.send('storage', 'GET', '/demo/stor/many'),
    theirs: () =>
      send('GET', 'many', [
        ['comp', 'list'],
        ['restype', 'container'],
      ]),
  },
];

async function demand(asked: Promise<number>): Promise<void> {
  const status = await asked;
  if (status >= 300) throw new Error(`answered ${status}`);
}

async function measure(ask: (number: number) => Promise<number>): Promise<number> {
  const { rate } = await measureLoad({ count, concurrency }, (number) => demand(ask(number)));
  return rate;
}

describe.runIf(existsSync(program))('next to Azurite', () => {
  beforeAll(async () => {
    services = await openServices(user.local, concurrency);
    const url = await startAzurite();
    pool = new Pool(url, { connections: concurrency, pipelining: 1, connect: { ca: readFileSync(user.local.caFile, 'utf8') } });
    for (const name of ['many', 'puts']) {
      await services.send('storage', 'PUT', `/demo/stor/${name}`, { headers: { 'content-type': 'application/json; type=directory' } });
      await demand(send('PUT', name, [['restype', 'container']]));
    }
    for (let number = 0; number < entries; number += 1) {
      await services.send('storage', 'PUT', `/demo/stor/many/${number}`, { body: content });
      await demand(send('PUT', `many/${number}`, [], content));
    }
  });
  afterAll(async () => {
    azurite.kill();
    await pool.destroy();
    await services.close();
  });

  test.each(works)('$name', { timeout: 600_000 }, async ({ name, ours, theirs }) => {
    const rates: [number[], number[]] = [[], []];
    for (let round = 0; round <= rounds; round += 1) {
      const each = [await measure(async (number) => (await ours(number)).status), await measure(theirs)] as const;
      if (round > 0) each.forEach((rate, side) => rates[side]?.push(rate));
    }
    const [mine, others] = [median(rates[0]), median(rates[1])];
    const { version } = JSON.parse(readFileSync(join(program, '../../../../package.json'), 'utf8')) as { version: string };
    const figure = { ours: `${Math.round(mine)}/s`, theirs: `${Math.round(others)}/s`, ratio: mine / others, least: 1 };
    report('bench', { name: `${name}; Azurite ${version}`, ...figure });
  });
});
