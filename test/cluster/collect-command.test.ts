import { existsSync, readdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateways, type TestGateway, type TestGateways } from '../support/cluster-gateways.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';

/** What an operator removes and looks at by hand, beside a gateway that runs. */

let gateways: TestGateways;
let gateway: TestGateway;
let sandbox: Sandbox;
let remove: () => void;
beforeAll(async () => {
  ({ sandbox, remove } = createSandbox());
  gateways = await createTestGateways();
  gateway = await gateways.add();
});
afterAll(async () => {
  await gateways.close();
  remove();
});

const collect = (...words: string[]): ReturnType<Sandbox['here']> =>
  sandbox.here(['server', 'collect', '--database', gateways.url, '--bytes', `file://${gateways.dir}`, ...words]);
const parse = (text: string): unknown => JSON.parse(text);
const large = (letter: string): Buffer => Buffer.alloc(20_000, letter);

async function put(name: string, body: Buffer): Promise<void> {
  expect((await gateway.storage('PUT', `/demo/stor/${name}`, { body })).status).toBe(204);
}

async function findFile(name: string): Promise<{ id: string; file: string }> {
  const { content } = await gateway.store.db.selectFrom('entries').select('content').where('name', '=', name).executeTakeFirstOrThrow();
  const id = content ?? '';
  return { id, file: join(gateways.dir, 'bytes', id.slice(0, 2), id) };
}

test('what would go is listed, then goes, and what is in use stays', async () => {
  await put('kept', large('k'));
  await put('deleted', large('d'));
  const { id, file } = await findFile('deleted');
  const orphan = await gateway.store.bytes.write(large('o'));
  utimesSync(join(gateways.dir, 'bytes', orphan.id.slice(0, 2), orphan.id), new Date(0), new Date(0));
  expect((await gateway.storage('DELETE', '/demo/stor/deleted')).status).toBe(204);
  const first = await collect('-j');
  expect([first.code, parse(first.stdout)]).toEqual([0, expect.objectContaining({ removed: 0, orphans: 1, waiting: 1 })]);
  await gateways.renewAll();
  const listed = await collect('--dry-run', '-j');
  expect([listed.code, parse(listed.stdout)]).toEqual([0, [{ content: id, why: 'unused' }]]);
  expect(readdirSync(join(file, '..'))).toContain(id);
  const kept = await collect('--keep-garbage', '7d', '-j');
  expect([kept.code, parse(kept.stdout)]).toEqual([0, expect.objectContaining({ removed: 0, waiting: 1 })]);
  const { code, stderr } = await collect();
  expect([code, stderr]).toEqual([0, expect.stringContaining('Removed 1 content')]);
  expect(readdirSync(join(file, '..'))).not.toContain(id);
  expect((await gateway.storage('GET', '/demo/stor/kept')).text).toBe(large('k').toString());
});

test('a time without a unit is refused, which would be seconds', async () => {
  const { code, stderr } = await collect('--keep-garbage', '7');
  expect([code, stderr]).toEqual([2, expect.stringContaining('such as --keep-garbage 7d')]);
  expect((await collect('--keep-garbage', '0')).code).toBe(0);
});

test('contents that are missing or too short are found, and named', async () => {
  await put('small', Buffer.alloc(5000, 's'));
  await put('whole', large('w'));
  const whole = await collect('--verify', '-j');
  expect([whole.code, parse(whole.stdout)]).toEqual([0, []]);
  await put('missing', large('m'));
  await put('short', large('x'));
  await put('lost row', Buffer.alloc(5000, 'r'));
  rmSync((await findFile('missing')).file);
  truncateSync((await findFile('short')).file, 19_999);
  await gateway.store.db
    .deleteFrom('contents')
    .where('id', '=', (await findFile('lost row')).id)
    .execute();
  const { code, stdout, stderr } = await collect('--verify', '-j');
  const found = parse(stdout) as { path: string; problem: string }[];
  expect([code, found.map(({ path }) => path).toSorted()]).toEqual([1, ['/demo/stor/lost row', '/demo/stor/missing', '/demo/stor/short']]);
  expect(found.find(({ path }) => path.endsWith('missing'))?.problem).toBe('is missing');
  expect(found.find(({ path }) => path.endsWith('short'))?.problem).toBe('the content has only 19999 of 20000 bytes');
  expect(stderr).toContain('3 contents of');
  // Who asks for such an object gets an error, and not other bytes.
  for (const name of ['missing', 'short', 'lost%20row'])
    expect((await gateway.storage('GET', `/demo/stor/${name}`).catch(() => ({ status: 0 }))).status).not.toBe(200);
  for (const name of ['missing', 'lost%20row'])
    expect((await gateway.storage('GET', `/demo/stor/${name}`)).text).toContain('the stored bytes are missing or damaged');
});

test('contents that a disk has damaged are found by their MD5', async () => {
  await put('flipped', large('f'));
  await put('flipped row', Buffer.alloc(5000, 'f'));
  const { id, file } = await findFile('flipped');
  const before = await collect('--verify', '--checksum', '-j');
  const bytes = large('f');
  bytes[10_000] = 0;
  writeFileSync(file, bytes);
  await sql`update contents set bytes = overlay(bytes placing 'x'::bytea from 10) where id = ${(await findFile('flipped row')).id}`.execute(
    gateway.store.db,
  );
  expect((await collect('--verify', '-j')).stdout).not.toContain('flipped');
  const { code, stdout } = await collect('--verify', '--checksum', '-j');
  expect([before.stdout.includes('flipped'), code]).toEqual([false, 1]);
  const found = (parse(stdout) as { path: string; content: string; problem: string }[]).filter(({ path }) => path.includes('flipped'));
  expect(found.map(({ path }) => path).toSorted()).toEqual(['/demo/stor/flipped', '/demo/stor/flipped row']);
  expect(found.find(({ content }) => content === id)?.problem).toContain('does not have the MD5');
  expect((await collect('--checksum')).code).toBe(2);
});

test('what a writer left is removed by a collection, and by nothing that only looks', async () => {
  const left = join(gateways.dir, 'tmp', 'left');
  writeFileSync(left, 'x');
  utimesSync(left, new Date(0), new Date(0));
  await collect('--verify');
  expect((await collect('--dry-run', '-j')).stdout).toContain('unfinished');
  expect(existsSync(left)).toBe(true);
  expect((await collect()).code).toBe(0);
  expect(existsSync(left)).toBe(false);
});

test('another folder, and options that contradict each other, are refused', async () => {
  const elsewhere = await sandbox.here(['server', 'collect', '--database', gateways.url, '--bytes', `file://${sandbox.home}/none`]);
  expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining('has no contents of gateways')]);
  expect((await collect('--verify', '--dry-run')).code).toBe(2);
});
