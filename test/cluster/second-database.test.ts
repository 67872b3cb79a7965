import { existsSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { collect, type Collected } from '../../src/server/cluster-collector.ts';
import { keepCollecting } from '../../src/server/keep-collecting.ts';
import type { ByteStore } from '../../src/server/store/bytes.ts';
import { beginCollection } from '../../src/server/store/postgres/collector.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import type { Store } from '../../src/server/store/store.ts';
import { StoreUnavailable } from '../../src/server/store/unavailable.ts';
import { countContents, openTestBytes } from '../support/byte-stores.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { createTestGateways, type TestGateway, type TestGateways } from '../support/cluster-gateways.ts';
import { runStatement } from '../support/postgres.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';

/** A copy of the database beside the one that goes on, with the same contents: it removes none that only the other one names. */

let gateways: TestGateways;
let gateway: TestGateway;
let copy: { url: string; drop: () => Promise<void> };
let copied: Store;
let sandbox: Sandbox;
let remove: () => void;
beforeAll(async () => {
  ({ sandbox, remove } = createSandbox());
  gateways = await createTestGateways();
  gateway = await gateways.add();
  copy = await createDatabase();
  copied = await openClusterStore({ database: copy.url, bytes: gateways.dir });
});
afterAll(async () => {
  await copied.close();
  await copy.drop();
  await gateways.close();
  remove();
});

const fileOf = (id: string): string => join(gateways.dir, 'bytes', id.slice(0, 2), id);

/** Stores an object after the copy was made, and lets two days pass. @returns the file of its content */
async function putLater(name: string): Promise<string> {
  expect((await gateway.storage('PUT', `/demo/stor/${name}`, { body: Buffer.alloc(50_000, name) })).status).toBe(204);
  const { content } = await gateway.store.db.selectFrom('entries').select('content').where('name', '=', name).executeTakeFirstOrThrow();
  const file = fileOf(content ?? '');
  const then = new Date(Date.now() - 2 * 86_400_000);
  utimesSync(file, then, then);
  return file;
}

/** Makes the copy that of now, as a dump in another database is. */
async function dump(): Promise<void> {
  const { id, collections } = await gateway.store.db.selectFrom('contents_folder').selectAll().executeTakeFirstOrThrow();
  await runStatement(copy.url, `update contents_folder set id = '${id}', marked = true, collections = ${collections}`);
}

const collectCopy = (): Promise<Collected | undefined> => collect({ store: copied, sweep: true });
const run = (url: string, ...words: string[]): ReturnType<Sandbox['here']> =>
  sandbox.here(['server', 'collect', '--database', url, '--bytes', `file://${gateways.dir}`, ...words]);

beforeEach(async () => {
  rmSync(join(gateways.dir, '.cloud-collector'), { force: true });
  await runStatement(gateways.url, 'update contents_folder set collections = 0');
  await gateways.collect();
  await dump();
});

test('a dump in another database removes nothing, until the operator says that it is the one', async () => {
  const file = await putLater('after');
  await expect(collectCopy()).rejects.toThrow('no contents are removed: another database removes them');
  const refused = await run(copy.url);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('cloud server collect --take-over')]);
  // What removes nothing still works.
  expect((await run(copy.url, '--dry-run', '-j')).stdout).toContain('orphan');
  expect((await run(copy.url, '--verify')).code).toBe(0);
  expect(existsSync(file)).toBe(true);
  expect((await run(copy.url, '--take-over', '--dry-run')).code).toBe(2);
  expect((await run(copy.url, '--take-over')).code).toBe(0);
  expect(existsSync(file)).toBe(false);
  expect(await collectCopy()).toBeDefined();
  await expect(gateways.collect()).rejects.toThrow('another database removes them');
});

test('a copy of the server, or one that went back in time, removes nothing after the other has collected', async () => {
  await gateways.collect();
  await runStatement(gateways.url, 'update contents_folder set collections = collections - 1');
  await expect(gateways.collect()).rejects.toThrow('this database is older than them');
  expect((await run(gateways.url, '--take-over')).code).toBe(0);
  expect(await gateways.collect()).toBeDefined();
});

test('a folder that lost the text is not collected', async () => {
  rmSync(join(gateways.dir, '.cloud-collector'));
  await expect(gateways.collect()).rejects.toThrow('have been restored or moved');
});

test('collectors of one database that begin at once do not refuse each other', async () => {
  for (let round = 0; round < 5; round += 1) await Promise.all([gateways.collect(), gateways.collect(), gateways.collect()]);
  expect(await gateways.collect()).toBeDefined();
  expect(readFileSync(join(gateways.dir, '.cloud-collector'), 'utf8')).toMatch(/^\d{15,}\/\d+ \d+\n$/u);
});

/** A text beside contents, which cannot be written whenever `fail` returns an error. */
function keepText(fail: () => Error | undefined): Pick<ByteStore, 'collector'> {
  let text: string | undefined;
  const write = async (written: string): Promise<void> => {
    const error = fail();
    if (error !== undefined) throw error;
    text = written;
  };
  return { collector: { read: async () => text, write } };
}

test('a first collection whose text cannot be written is begun again', async () => {
  await runStatement(gateways.url, 'update contents_folder set collections = 0');
  const outcomes = ['away', 'written', 'away'];
  const bytes = keepText(() => (outcomes.shift() === 'away' ? new StoreUnavailable('away') : undefined));
  for (let times = 0; times < 2; times += 1) await expect(beginCollection(gateway.store.db, bytes)).rejects.toThrow('away');
  expect(await beginCollection(gateway.store.db, bytes)).toBeUndefined();
  await expect(beginCollection(copied.db, bytes)).rejects.toThrow('another database removes them');
});

test('where there is no room for the text, only the database that removes contents goes on, or one that takes over', async () => {
  await runStatement(gateways.url, 'update contents_folder set collections = 0');
  let full: Error | undefined;
  const bytes = keepText(() => full);
  await beginCollection(gateway.store.db, bytes);
  full = Object.assign(new Error('full'), { code: 'ENOSPC' });
  expect(await beginCollection(gateway.store.db, bytes)).toBe(full);
  await expect(beginCollection(copied.db, bytes)).rejects.toThrow('another database removes them');
  expect(await beginCollection(copied.db, bytes, true)).toBe(full);
  // Whoever has not written it has not taken over.
  full = undefined;
  await expect(beginCollection(copied.db, bytes)).rejects.toThrow('another database removes them');
  expect(await beginCollection(gateway.store.db, bytes)).toBeUndefined();
});

// CLOUD_TEST_BYTES names the store.
test.skipIf(process.env['CLOUD_TEST_BYTES'] === undefined)('in a bucket the text is an object, which is no content', async () => {
  const { bytes, close } = await openTestBytes(join(gateways.dir, 'bucket'));
  try {
    await expect(beginCollection(gateway.store.db, bytes)).rejects.toThrow('have been restored or moved');
    await beginCollection(gateway.store.db, bytes, true);
    await beginCollection(gateway.store.db, bytes);
    await expect(beginCollection(copied.db, bytes)).rejects.toThrow('another database removes them');
    expect(await countContents(bytes)).toBe(0);
  } finally {
    await close();
  }
});

test('a gateway of a copy says once why it removes nothing', async () => {
  const said: string[] = [];
  let rounds = 0;
  const keeping = { isSteady: () => (rounds += 1) > 0 };
  const collecting = keepCollecting({
    store: copied,
    settings: {},
    keeping,
    log: (line) => void said.push(line),
    holder: 'a',
    pause: 1,
  });
  await expect.poll(() => rounds).toBeGreaterThan(3);
  await collecting.stop();
  expect(said).toEqual([expect.stringMatching(/^no contents are removed: another database removes them; .*--take-over/u)]);
  expect(
    await copied.db
      .selectFrom('duties' as never)
      .selectAll()
      .execute(),
  ).toEqual([expect.objectContaining({ name: 'lifetimes' })]);
});

test('orphans stay for the time of --keep-garbage, and for the longest of all gateways', async () => {
  const { id } = await gateway.store.bytes.write(Buffer.alloc(50_000, 'orphan'));
  const then = new Date(Date.now() - 2 * 86_400_000);
  utimesSync(fileOf(id), then, then);
  expect(await gateways.collect({ sweep: true, keep: 7 * 86_400_000 })).toMatchObject({ orphans: 0 });
  await runStatement(gateways.url, `update gateways set keep = ${7 * 86_400_000}`);
  expect(await gateways.collect({ sweep: true })).toMatchObject({ orphans: 0 });
  // While no gateway runs.
  await runStatement(gateways.url, 'update gateways set keep = null');
  expect(await gateways.collect({ sweep: true, keep: 0 })).toMatchObject({ orphans: 0 });
  await runStatement(gateways.url, 'update gateways set keep = 0');
  expect(await gateways.collect({ sweep: true })).toMatchObject({ orphans: 1 });
});
