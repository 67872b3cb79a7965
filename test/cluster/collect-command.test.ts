import { readdirSync, rmSync, truncateSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
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
  expect(stderr).toContain('3 contents of');
  // Who asks for such an object gets an error, and not other bytes.
  for (const name of ['missing', 'short', 'lost%20row'])
    expect((await gateway.storage('GET', `/demo/stor/${name}`).catch(() => ({ status: 0 }))).status).not.toBe(200);
});

test('another folder, and options that contradict each other, are refused', async () => {
  const elsewhere = await sandbox.here(['server', 'collect', '--database', gateways.url, '--bytes', `file://${sandbox.home}/none`]);
  expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining('has no contents of gateways')]);
  expect((await collect('--verify', '--dry-run')).code).toBe(2);
});
