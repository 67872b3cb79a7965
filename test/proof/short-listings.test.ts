import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { useLocal, type Outcome } from '../support/sandbox.ts';

/** A listing with fewer entries than the service announces is an error, and nothing is deleted because of it. */

const user = useLocal('--http');
const all = Array.from({ length: 40 }, (_, at) => `f${String(at).padStart(2, '0')}`);

/** What a page of the listing of `d` becomes on its way: names that are left, of this page, whose number is counted. */
type Change = (names: string[], page: number) => Promise<string[]> | string[];
const untouched: Change = (names) => names;
let change = untouched;
let page = 0;
let server: Server;
let url = '';

beforeAll(async () => {
  server = createServer((incoming, response) => {
    const { method = '', url: target = '', headers } = incoming;
    // Small pages, as a service may grant them.
    const forwarded = target.replace('limit=1000', 'limit=10');
    const passed = request(new URL(forwarded, user.local.storUrl), { method, headers }, (reply) => {
      const isListing = method === 'GET' && target.startsWith('/demo/stor/d?');
      if (!isListing) {
        response.writeHead(reply.statusCode ?? 0, reply.headers);
        reply.pipe(response);
        return;
      }
      const pieces: Buffer[] = [];
      reply.on('data', (piece: Buffer) => pieces.push(piece));
      reply.on('end', () => {
        void (async () => {
          const records = Buffer.concat(pieces).toString().split('\n').filter(Boolean);
          const names = records.map((record) => (JSON.parse(record) as { name: string }).name);
          const kept = await change(names, page);
          page += 1;
          const { 'content-length': _, ...others } = reply.headers;
          response.writeHead(reply.statusCode ?? 0, others);
          response.end(
            records
              .filter((__, at) => kept.includes(names[at] ?? ''))
              .map((record) => `${record}\n`)
              .join(''),
          );
        })();
      });
    });
    passed.on('error', () => response.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const stor = (...words: string[]): Promise<Outcome> => user.cloud(['stor', ...words, '--stor-url', url]);
const listThere = async (path: string): Promise<string[]> =>
  (await user.json<{ name: string }[]>('stor', 'ls', path)).map(({ name }) => name);
const here = (): string[] => readdirSync(join(user.home, 'here')).toSorted();

beforeEach(async () => {
  change = untouched;
  await user.cloud(['stor', 'rm', '-r', '-y', 'd', 'e', '-q']);
  rmSync(join(user.home, 'here'), { recursive: true, force: true });
  mkdirSync(join(user.home, 'here'));
  for (const name of all) writeFileSync(join(user.home, 'here', name), name);
  await user.cloud(['stor', 'sync', 'here', 'stor:d', '-q']);
  page = 0;
});

const lies: readonly [name: string, change: Change][] = [
  ['ends early', (names) => names.filter((name) => name < 'f13')],
  ['has a hole', (names) => names.filter((name) => name < 'f05' || name > 'f07')],
  ['lacks its first entry', (names) => names.filter((name) => name > 'f00')],
  ['is empty', () => []],
];

test.each(lies)('sync --delete down deletes nothing when the listing %s', async (_, lie) => {
  change = lie;
  const { code, stderr } = await stor('sync', 'stor:d', 'here', '--delete', '--yes');
  expect([code !== 0, here()]).toEqual([true, all]);
  expect(stderr).toMatch(/the listing of \/demo\/stor\/d is incomplete: \d+ of 40 entries/u);
});

test.each(lies)('a plan of sync --delete has no removals when the listing %s', async (_, lie) => {
  change = lie;
  const { code, stdout } = await stor('sync', 'stor:d', 'here', '--delete', '--plan', '-');
  expect([code !== 0, stdout.includes('"delete"')]).toEqual([true, false]);
});

test.each(lies)('sync --delete up, rm -r, mv, get -r and ls fail when the listing %s, and lose nothing', async (_, lie) => {
  change = lie;
  rmSync(join(user.home, 'here', 'f39'));
  const up = await stor('sync', 'here', 'stor:d', '--delete', '--yes');
  expect([up.code, up.stderr]).not.toEqual([0, '']);
  expect(await listThere('d')).toEqual(all);
  for (const words of [
    ['get', '-r', 'd', 'got'],
    ['ls', 'd'],
    ['find', 'd'],
    ['du', 'd'],
  ]) {
    const { code, stderr } = await stor(...words);
    expect([words, code]).not.toEqual([words, 0]);
    expect(stderr).toMatch(/of 40 entries/u);
  }
  await user.cloud(['stor', 'mkdir', '-q', 'e']);
  const moved = await stor('mv', 'd', 'e/');
  expect(moved.code).not.toBe(0);
  const [left, gone] = [await listThere('d'), await listThere('e/d').catch(() => [])];
  expect([...new Set([...left, ...gone])].toSorted()).toEqual(all);
  const removed = await stor('rm', '-r', '-y', 'd');
  expect([removed.code !== 0, (await listThere('d')).length > 0]).toEqual([true, true]);
});

test('a page that is cut once is asked for again', async () => {
  change = (names, at) => (at === 1 ? names.slice(0, 1) : names);
  expect(await stor('sync', 'stor:d', 'here', '--delete', '--yes')).toMatchObject({ code: 0, stderr: '' });
  change = (names, at) => (at === 4 ? [] : names);
  page = 0;
  const { code, stdout } = await stor('ls', 'd', '-o', 'name');
  expect([code, stdout.trim().split('\n')]).toEqual([0, all]);
  expect(here()).toEqual(all);
});

const healthy: readonly [name: string, work: (at: number) => string | undefined][] = [
  ['are added behind the reader', (at) => (at > 0 && at < 4 ? `cloud stor put -q here/f00 d/a${at}` : undefined)],
  ['are added before the reader', (at) => (at > 0 && at < 4 ? `cloud stor put -q here/f00 d/z${at}` : undefined)],
  ['are removed behind the reader', (at) => (at > 0 && at < 4 ? `cloud stor rm -q -y d/f0${at}` : undefined)],
  ['are removed before the reader', (at) => (at > 0 && at < 4 ? `cloud stor rm -q -y d/f3${at}` : undefined)],
  [
    'are renamed from before the reader to behind it',
    (at) => (at === 2 ? 'cloud stor mv -q d/f38 d/a && cloud stor mv -q d/f39 d/b' : undefined),
  ],
  ['are all removed', (at) => (at === 1 ? 'cloud stor rm -q -y -r d; cloud stor mkdir -q d' : undefined)],
];

test.each(healthy)('entries that %s meanwhile fail nothing', async (_, work) => {
  const done = new Set<number>();
  change = async (names, at) => {
    const line = done.has(at) ? undefined : work(at);
    done.add(at);
    if (line !== undefined) await user.shell(line);
    return names;
  };
  for (const words of [
    ['ls', 'd', '-o', 'name'],
    ['find', 'd'],
    ['sync', 'stor:d', 'fresh', '-n'],
  ]) {
    page = 0;
    const { code, stderr } = await stor(...words);
    expect([words, code, stderr]).toEqual([words, 0, '']);
  }
  expect(existsSync(join(user.home, 'fresh'))).toBe(false);
});
