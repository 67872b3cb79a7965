import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { earlierProgram, startBeside } from '../support/earlier.ts';
import { median, report } from '../support/figures.ts';
import { openLoad, type LoadRequest } from '../support/load-connections.ts';
import { measureLoad, type Measured } from '../support/load.ts';
import { useLocal, type LocalInfo } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';
import { openServices } from '../support/signed.ts';

/**
 * Requests in a second that the service answers, as ratios to a bare `node:http` server that does nothing but verify the same signature,
 * asked in turns by the same load generator. Neither has TLS: what it costs is the same for both. The generator leaves next to no garbage:
 * its own collections showed as slow requests of every server, up to nine times as slow as half of them for listings of the bare one.
 */

const user = useLocal('--http');
const concurrency = 32;
const count = scale(2000, 20_000);
const rounds = scale(1, 5);
const content = randomBytes(4096);
const entries = 200;
/** Most times the time of half of the requests that 99 of 100 take. */
const mostTail = 3;
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

let earlier: LocalInfo | undefined;

/** Stores what is asked for. @returns a listing */
async function fill(local: LocalInfo): Promise<Buffer> {
  const services = await openServices(local, concurrency);
  const directory = { headers: { 'content-type': 'application/json; type=directory' } };
  await services.send('storage', 'PUT', '/demo/stor/many', directory);
  await services.send('storage', 'PUT', '/demo/stor/puts', directory);
  for (let number = 0; number < entries; number += 1) await services.send('storage', 'PUT', `/demo/stor/many/${number}`, { body: content });
  const listing = await services.send('storage', 'GET', '/demo/stor/many');
  await services.close();
  return listing.bytes;
}

beforeAll(async () => {
  const listing = await fill(user.local);
  if (earlierProgram !== undefined) await fill((earlier = await startBeside(user, earlierProgram, '--http')));
  const file = user.write('bare.cjs', bareServer);
  bare = spawn(process.execPath, [file, user.local.keyFile, user.write('listing', listing)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  bareUrl = await new Promise((resolve) => {
    bare.stdout?.once('data', (port: Buffer) => resolve(`http://127.0.0.1:${port.toString().trim()}`));
  });
});
afterAll(async () => {
  bare.kill();
  if (earlier !== undefined) await user.shell(`'${earlierProgram}' local stop --data beside -q`);
});

/** Most memory of a process so far, MiB. */
function peakOf(pid: number | undefined): number {
  const [, kibibytes = ''] = /VmHWM:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8')) ?? [];
  return Math.round(Number(kibibytes) / 1024);
}

/** Processor time of a process so far, microseconds. */
function readProcessorTime(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ');
  const [user = 0, system = 0] = rest.split(' ').slice(11, 13).map(Number);
  const tickMicroseconds = 10_000;
  return (user + system) * tickMicroseconds;
}

/** What was measured, and the processor time of the service for each request, microseconds. */
interface Answered extends Measured {
  readonly cost: number;
}

/** Asks `most` times, from connections that are open: each has had a response before time is taken. */
async function measure(local: LocalInfo, { request, expected }: Work, most = count): Promise<Answered> {
  const load = await openLoad(local, concurrency);
  const ask = async (number: number): Promise<void> => {
    const status = await load.send(request(number));
    if (status !== expected) throw new Error(`answered ${status}`);
  };
  await Promise.all(Array.from({ length: concurrency }, (_, number) => ask(number)));
  const before = readProcessorTime(local.pid);
  const measured = await measureLoad({ count: most, concurrency }, ask);
  load.close();
  return { ...measured, cost: (readProcessorTime(local.pid) - before) / most };
}

/** What is asked for, the status that answers it, and the least ratios of rates to the bare server and to the earlier release. */
interface Work {
  readonly name: string;
  readonly request: (number: number) => LoadRequest;
  readonly expected: number;
  readonly least: number;
  readonly leastGain: number;
  /** Most of the processor time that the earlier release takes. */
  readonly mostCost: number;
}

const works: readonly Work[] = [
  {
    name: 'signed GET of 4 KiB',
    request: (number) => ({ method: 'GET', path: `/demo/stor/many/${number % entries}` }),
    expected: 200,
    least: 0.25,
    leastGain: 2.5,
    mostCost: 0.45,
  },
  {
    name: 'signed PUT of 4 KiB, on the disk',
    request: (number) => ({ method: 'PUT', path: `/demo/stor/puts/${number}`, body: content }),
    expected: 204,
    least: 0.1,
    leastGain: 2,
    mostCost: 0.5,
  },
  {
    name: `signed listing of ${entries} entries`,
    request: () => ({ method: 'GET', path: '/demo/stor/many' }),
    expected: 200,
    least: 0.15,
    leastGain: 3,
    mostCost: 0.35,
  },
];

function show(measured: readonly Measured[], pid: number | undefined): string {
  const times = `half in ${timeOf(measured, 'p50')} ms, 99 of 100 in ${timeOf(measured, 'p99')} ms`;
  return `${Math.round(rateOf(measured))}/s, ${times}, at most ${peakOf(pid)} MiB`;
}

function rateOf(measured: readonly Measured[]): number {
  return median(measured.map(({ rate }) => rate));
}

/** Median of the rounds. */
function timeOf(measured: readonly Measured[], share: 'p50' | 'p99'): string {
  return median(measured.map((each) => each[share])).toFixed(1);
}

/** How many times as long as the half the slowest of 99 of 100 take: the median of the rounds. */
function tailOf(measured: readonly Measured[]): number {
  return median(measured.map(({ p50, p99 }) => p99 / p50));
}

function costOf(measured: readonly Answered[]): number {
  return median(measured.map(({ cost }) => cost));
}

test.each(works)('$name, in a second', { timeout: 600_000 }, async (work) => {
  const { name, least, leastGain, mostCost } = work;
  const [ours, theirs, before]: [Answered[], Answered[], Answered[]] = [[], [], []];
  const bareLocal = { ...user.local, storUrl: bareUrl, pid: bare.pid ?? 0 };
  // Code that is not compiled yet is slow, which says nothing about a service that runs.
  for (const local of [user.local, bareLocal, ...(earlier ? [earlier] : [])]) await measure(local, work, count / 4);
  for (let round = 0; round < rounds; round += 1) {
    ours.push(await measure(user.local, work));
    if (earlier) before.push(await measure(earlier, work));
    theirs.push(await measure(bareLocal, work));
  }
  expect(rateOf(ours)).toBeGreaterThan(0);
  const what = `${name}, ${concurrency} at once`;
  report('bench', {
    name: `${what}; bare server that verifies it`,
    ours: show(ours, user.local.pid),
    theirs: show(theirs, bare.pid),
    ratio: rateOf(ours) / rateOf(theirs),
    least,
  });
  report('bench', {
    name: `${what}: the time of 99 of 100, and of half of them`,
    ours: `${timeOf(ours, 'p99')} ms`,
    theirs: `${timeOf(ours, 'p50')} ms (bare server: ${timeOf(theirs, 'p99')} and ${timeOf(theirs, 'p50')} ms)`,
    ratio: tailOf(ours),
    most: mostTail,
  });
  if (!earlier) return;
  report('bench', {
    name: `${what}; an earlier release (690770e)`,
    ours: show(ours, user.local.pid),
    theirs: show(before, earlier.pid),
    ratio: rateOf(ours) / rateOf(before),
    least: leastGain,
  });
  // The load generator runs on the same cores: where it is the slower one, the rates say little.
  const [cost, earlierCost] = [costOf(ours), costOf(before)];
  report('bench', {
    name: `${what}, processor time of the service for each; an earlier release (690770e)`,
    ours: `${Math.round(cost)} µs`,
    theirs: `${Math.round(earlierCost)} µs (bare server: ${Math.round(costOf(theirs))} µs)`,
    ratio: cost / earlierCost,
    most: mostCost,
  });
});
