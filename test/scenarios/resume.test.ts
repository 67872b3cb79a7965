import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFaultProxy, type Fault, type FaultProxy } from '../support/fault-proxy.ts';
import { useShared } from '../support/shared-service.ts';

/** What was interrupted is listed, goes on, and is cleaned up, by `cloud resume`. */

const user = useShared('--http');

interface Row {
  id: string;
  kind: string;
  state: string;
  done: number;
  source: string;
  target: string;
}

const list = (): Promise<Row[]> => user.json<Row[]>('resume');
const journal = join(user.home, '.local/state/cloud/resume');

beforeAll(() => {
  for (let number = 0; number < 12; number += 1) user.write(`tree/${number % 3}/f${number}`, randomBytes(20_000));
});

let proxy: FaultProxy;
let onRequest = (_line: string): Fault => 'none';

beforeAll(async () => {
  proxy = await startFaultProxy(user.local.storUrl, (method, _random, target) => onRequest(`${method} ${target}`), 1);
});

afterAll(() => proxy.close());

/** Runs a line of which each file takes a while, and ends it when so many requests have come, or one that ends so, which is refused. */
async function interrupt(signal: NodeJS.Signals, when: number | string, ...words: string[]): Promise<string> {
  let count = 0;
  onRequest = (line) => {
    const isTime = typeof when === 'number' ? ++count === when : line.endsWith(when);
    if (isTime) child.kill(signal);
    return isTime && typeof when === 'string' ? 'busy' : 'none';
  };
  const all = ['stor', ...words, '-P', '1', '--stor-url', proxy.url];
  const child = spawn(join(user.home, 'bin/cloud'), all, { cwd: user.home, env: user.env, stdio: ['ignore', 'ignore', 'pipe'] });
  const pieces: Buffer[] = [];
  child.stderr.on('data', (piece: Buffer) => pieces.push(piece));
  await new Promise((resolve) => void child.on('close', resolve));
  onRequest = () => 'none';
  expect(child.signalCode).toBe(signal);
  return Buffer.concat(pieces).toString();
}

async function names(path: string): Promise<string[]> {
  return (await user.here(['stor', 'find', path, '--type', 'object', '-o', 'name'])).stdout.split('\n').slice(0, -1);
}

test('a tree that was interrupted is named, listed, and goes on without what is done', async () => {
  const said = await interrupt('SIGINT', 10, 'put', '-r', 'tree', 'one', '--bwlimit', '200K');
  const [row] = await list();
  expect(said).toContain(`to resume: cloud resume ${row?.id}`);
  expect(row).toMatchObject({ kind: 'upload', state: 'interrupted', source: join(user.home, 'tree'), target: '/demo/stor/one' });
  expect(row?.done).toBeGreaterThan(0);
  const before = await names('one');
  const again = await user.here(['resume', row?.id ?? '', '-v']);
  expect(again.code).toBe(0);
  // One may have been stored when it could not be noted any more.
  const sent = again.stderr.match(/PUT \S+\/one\/\d\/f\d+/g)?.length ?? 0;
  expect([12 - before.length, 13 - before.length]).toContain(sent);
  expect([(await names('one')).length, await list(), readdirSync(journal)]).toEqual([12, [], []]);
});

test('a resumption that fails before it begins keeps the work and its counts', async () => {
  user.write('large', randomBytes(12 * 1024 * 1024));
  await user.shell('cloud stor put -p large denied/large && cloud stor put -r tree denied/tree');
  const left = [
    () => user.shell('timeout -s INT 3 cloud stor get denied/large back --bwlimit 2M'),
    () => interrupt('SIGINT', 6, 'get', '-r', 'denied/tree', 'tree-back', '--bwlimit', '200K'),
  ];
  for (const leave of left) {
    await leave();
    const [row] = await user.json<(Row & { doneBytes: number })[]>('resume', '--columns', 'all');
    const id = row?.id ?? 'absent';
    const kept = readdirSync(user.home).filter((name) => name.includes('.part'));
    for (const option of ['--ca=absent.pem', '--key-id=aa:bb', '--stor-url=http://127.0.0.1:1']) {
      expect((await user.here(['resume', id, option, '--retries', '0'])).code).toBeGreaterThan(0);
      expect(await user.json('resume', '--columns', 'all')).toMatchObject([{ id, done: row?.done, doneBytes: row?.doneBytes }]);
    }
    expect(readdirSync(user.home).filter((name) => name.includes('.part'))).toEqual(kept);
    const { code, stderr } = await user.here(['resume', id, '-j']);
    expect([code, stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'))]).toEqual([0, []]);
    expect(await list()).toEqual([]);
  }
});

test('a run that succeeds at once leaves nothing', async () => {
  expect((await user.here(['stor', 'put', '-r', 'tree', 'quick', '-q'])).code).toBe(0);
  expect(readdirSync(journal)).toEqual([]);
});

test('a file that changed since is sent again; what others made of its object since stays', async () => {
  await interrupt('SIGKILL', 12, 'put', '-r', 'tree', 'two', '--bwlimit', '200K');
  const [done = '', other = ''] = await names('two');
  const file = (path: string): string => join(user.home, 'tree', path.replace('/demo/stor/two/', ''));
  const kept = [done, other].map((path) => readFileSync(file(path)));
  for (const path of [done, other]) writeFileSync(file(path), 'changed meanwhile');
  await user.here(['stor', 'put', '-', other, '-q'], { input: 'of somebody else' });
  const { code, stderr } = await user.here(['resume', '--all']);
  expect([code, stderr]).toEqual([5, expect.stringContaining(other)]);
  const content = async (path: string): Promise<string> => (await user.here(['stor', 'cat', path])).stdout;
  expect([await content(done), await content(other), (await names('two')).length]).toEqual(['changed meanwhile', 'of somebody else', 12]);
  [done, other].forEach((path, at) => writeFileSync(file(path), kept[at] ?? ''));
});

test.each(['put', 'cp', 'mv'])(
  'what %s has not written yet replaces what was there before, and nothing that others wrote since',
  async (verb) => {
    const items = ['a', 'b', 'c', 'd'].map((name) => `${verb}-${name}`);
    for (const name of items) {
      user.write(name, `mine ${name}`);
      await user.here(['stor', 'put', name, name, '-q']);
    }
    const [, first = '', taken = '', kept = ''] = items;
    const to = (name: string): string => `into-${verb}/${name}`;
    await user.here(['stor', 'mkdir', to('').slice(0, -1)]);
    const store = (name: string, input: string): Promise<unknown> => user.here(['stor', 'put', '-', to(name), '-q'], { input });
    await store(kept, 'of before');
    // Times of HTTP are seconds: only what is older than that certainly existed before the work began.
    await setTimeout(2500);
    await interrupt('SIGKILL', `PUT /demo/stor/${to(first)}`, verb, ...items, to('').slice(0, -1));
    await store(taken, 'of others');
    const { code, stderr } = await user.here(['resume', '--all']);
    expect([code, stderr]).toEqual([
      5,
      expect.stringContaining(`/demo/stor/${to(taken)} was created or changed after the interrupted run began: left alone`),
    ]);
    const contents = items.map(async (name) => (await user.here(['stor', 'cat', to(name)])).stdout);
    expect(await Promise.all(contents)).toEqual(items.map((name) => (name === taken ? 'of others' : `mine ${name}`)));
    expect((await user.here(['stor', 'cat', taken])).stdout).toBe(`mine ${taken}`);
    expect(await list()).toEqual([]);
  },
);

test('what a killed run stored and could not note counts as done', async () => {
  for (const name of ['x', 'y']) user.write(name, `mine ${name}`);
  await user.here(['stor', 'mkdir', 'noted']);
  await interrupt('SIGKILL', 'PUT /demo/stor/noted/y', 'put', 'x', 'y', 'noted');
  await user.here(['stor', 'put', 'y', 'noted/y', '-q']);
  expect(await user.here(['resume', '--all', '-q'])).toMatchObject({ code: 0 });
});

test('a file that was edited since it was fetched stays as it is', async () => {
  await user.here(['stor', 'put', '-r', 'tree', 'whole', '-q']);
  await interrupt('SIGINT', 8, 'get', '-r', 'whole', 'here', '--bwlimit', '200K');
  const edited = readdirSync(join(user.home, 'here'), { recursive: true, encoding: 'utf8' }).find((name) => /f\d+$/.test(name)) ?? '';
  user.write(`here/${edited}`, 'edited');
  expect((await user.here(['resume', '--all'])).stderr).toContain(`${edited} was created or changed meanwhile: left alone`);
  const { stdout } = await user.shell('diff -rq here tree');
  expect(stdout.trim().split('\n')).toEqual([`Files here/${edited} and tree/${edited} differ`]);
});

test('what was created after a removal began stays, and what a copy has made that others replaced', async () => {
  await user.here(['stor', 'cp', '-r', 'stor:tree', 'stor:doomed', '-q']);
  await interrupt('SIGINT', 20, 'cp', '-r', 'stor:whole', 'stor:copied');
  const [done = ''] = await names('copied');
  await user.here(['stor', 'put', '-', done, '-q'], { input: 'of somebody else' });
  expect(await user.here(['resume', '--all', '-q'])).toMatchObject({ code: 0 });
  expect((await user.here(['stor', 'cat', done])).stdout).toBe('of somebody else');
  expect(await names('copied')).toHaveLength(12);
  await interrupt('SIGINT', 10, 'rm', '-ry', 'copied');
  // Times of HTTP are seconds: what is created in the same second goes with the rest.
  expect((await user.here(['local', 'clock', 'advance', '10s', '-q'])).code).toBe(0);
  await user.here(['stor', 'put', '-', 'copied/2/new', '-q'], { input: 'new' });
  const { code, stderr } = await user.here(['resume', '--all']);
  expect([code !== 0, stderr]).toEqual([
    true,
    expect.stringContaining('/demo/stor/copied/2/new was created or changed after the deletion began'),
  ]);
  expect(await names('copied')).toContain('/demo/stor/copied/2/new');
});

test('an unknown id, --drop without a word, and --all with ids are refused', async () => {
  expect(await user.here(['resume', 'abcdef00'])).toMatchObject({ code: 3 });
  expect(await user.here(['resume', '--drop'])).toMatchObject({ code: 2 });
  expect(await user.here(['resume', '--all', 'abcdef00'])).toMatchObject({ code: 2 });
});

test('an entry of another service is refused; it goes on after 13 days, and after two weeks it is forgotten', async () => {
  await interrupt('SIGKILL', 10, 'put', '-r', 'tree', 'three', '--bwlimit', '200K');
  const name = readdirSync(journal).find((each) => each.endsWith('.json')) ?? '';
  const file = join(journal, name);
  const entry = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown> & { connection: object };
  const write = (change: object): void => writeFileSync(file, JSON.stringify({ ...entry, ...change }));
  write({ connection: { ...entry.connection, options: {}, service: 'https://elsewhere.example' } });
  expect(await user.here(['resume', '--all'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the profile is now for demo at'),
  });
  const day = 24 * 3_600_000;
  function age(days: number): void {
    const time = Date.now() - days * day;
    write({ began: time, updated: time });
    for (const each of [file, `${file}l`]) utimesSync(each, time / 1000, time / 1000);
  }
  const done = readFileSync(`${file}l`);
  age(13);
  expect(await list()).toMatchObject([{ id: entry['id'], state: 'interrupted' }]);
  expect((await user.here(['resume', '--all', '-q'])).code).toBe(0);
  expect([(await names('three')).length, readdirSync(journal)]).toEqual([12, []]);
  // The same entry, if nobody had gone on with it.
  for (const [path, content] of [
    [file, ''],
    [`${file}l`, done],
  ] as const)
    writeFileSync(path, content, { mode: 0o600 });
  age(15);
  expect([await list(), readdirSync(journal)]).toEqual([[], []]);
});
