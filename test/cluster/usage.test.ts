import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Store } from '../../src/server/store/store.ts';
import { createColumnTypes } from '../../src/server/store/postgres/column-types.ts';
import { migratePostgres } from '../../src/server/store/postgres/migrate.ts';
import { createUsageTables } from '../../src/server/store/usage-tables.ts';
import { foldUsage, listUsage, readUsage } from '../../src/server/store/usage.ts';
import { createSharedPlace } from '../support/cluster-database.ts';
import { findDamage } from '../support/find-damage.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { createTestService, joinServices, type TestService } from '../support/service.ts';

/** What accounts use and may use, through two gateways. */

let first: TestService;
let second: Pick<TestService, 'compute' | 'storage'>;
let store: Store;
let sandbox: Sandbox;
let url = '';
const ends: (() => Promise<unknown> | void)[] = [];

beforeAll(async () => {
  const place = await createSharedPlace();
  ({ url } = place);
  const made = createSandbox();
  ({ sandbox } = made);
  ends.push(made.remove, place.remove);
  first = await createTestService({ open: place.open });
  store = await place.open();
  second = joinServices(store, first.key);
  ends.push(
    () => first.close(),
    () => store.close(),
  );
});
afterAll(async () => {
  while (ends.length > 0) await ends.pop()?.();
});

const limit = (...options: string[]): Promise<Record<string, unknown>> =>
  sandbox.json<Record<string, unknown>>('server', 'accounts', 'limit', 'demo', ...options, '--database', url);
const body = Buffer.alloc(100);
const put = async (to: Pick<TestService, 'storage'>, name: string, bytes: Uint8Array = body): Promise<number> =>
  (await to.storage('PUT', `/demo/stor/${name}`, { body: bytes })).status;

test('a quota holds from the next request on through every gateway, and is shown with what is used', async () => {
  expect(await put(first, 'a')).toBe(204);
  expect(await limit('--bytes', '1KiB', '--objects', '3')).toMatchObject({
    login: 'demo',
    bytes: 100,
    objects: 1,
    mostBytes: 1024,
    mostObjects: 3,
  });
  expect(await put(second, 'large', Buffer.alloc(925))).toBe(507);
  expect(await put(first, 'large', Buffer.alloc(925))).toBe(507);
  expect([await put(first, 'b'), await put(second, 'c'), await put(first, 'd'), await put(second, 'd')]).toEqual([204, 204, 507, 507]);
  const [listed] = await sandbox.json<Record<string, unknown>[]>('server', 'accounts', 'list', '--database', url);
  expect(listed).toMatchObject({ login: 'demo', bytes: 300, objects: 3 });
  expect(await limit('--objects', 'none')).toMatchObject({ mostBytes: 1024 });
  expect(await limit()).not.toHaveProperty('mostObjects');
  expect([await put(first, 'd'), await put(second, 'e', Buffer.alloc(700))]).toEqual([204, 507]);
  expect(await limit('--bytes', 'none')).not.toHaveProperty('mostBytes');
  expect(await put(second, 'e', Buffer.alloc(700))).toBe(204);
  const noted = await store.db.selectFrom('audit').select(['account', 'details']).where('action', '=', 'limitAccount').execute();
  expect(noted.map(({ account, details }) => [account, JSON.parse(details) as unknown])).toEqual([
    ['demo', { most_bytes: 1024, most_objects: 3 }],
    ['demo', { most_objects: null }],
    ['demo', { most_bytes: null }],
  ]);
  const shown = await sandbox.here(['server', 'accounts', 'limit', 'demo', '--bytes', 'much', '--database', url]);
  expect([shown.code, shown.stderr]).toEqual([2, expect.stringContaining('is not a size')]);
});

test('two gateways at once exceed a quota by no more than what was under way', async () => {
  const { bytes } = await readUsage(store.db, 'demo');
  await limit('--bytes', String(bytes + 1000));
  const atOnce = 6;
  const done: number[] = [];
  const write = async (to: Pick<TestService, 'storage'>, name: string): Promise<void> => {
    for (let index = 0; index < 8; index += 1) done.push(await put(to, `${name}${index}`));
  };
  await Promise.all(Array.from({ length: atOnce }, (_, index) => write(index % 2 === 0 ? first : second, `race${index}-`)));
  const after = await readUsage(store.db, 'demo');
  expect(after.bytes - bytes).toBe(100 * done.filter((status) => status === 204).length);
  expect(new Set(done)).toEqual(new Set([204, 507]));
  expect(after.bytes - bytes).toBeGreaterThanOrEqual(1000);
  expect(after.bytes - bytes).toBeLessThanOrEqual(1000 + (atOnce - 1) * 100);
  await limit('--bytes', 'none');
});

test('what is used is the same before and after it is folded, also while writers go on', async () => {
  const end = new AbortController();
  const fold = async (): Promise<void> => {
    while (!end.signal.aborted) await foldUsage(store.db);
  };
  const folding = [fold(), fold()];
  try {
    const { bytes } = await readUsage(store.db, 'demo');
    for (let count = 1; count <= 30; count += 1) {
      expect(await put(count % 2 === 0 ? first : second, `folded${count}`)).toBe(204);
      expect((await readUsage(store.db, 'demo')).bytes - bytes).toBe(100 * count);
    }
  } finally {
    end.abort();
    await Promise.all(folding);
  }
  await foldUsage(store.db);
  const { rows } = await sql`select 1 from usage_changes`.execute(store.db);
  expect(rows).toEqual([]);
  expect(await findDamage(store)).toEqual([]);
});

test('entries of an earlier release are counted by the migration, beside those that are written meanwhile', async () => {
  const before = await listUsage(store.db);
  const undo = [
    'drop trigger usage_of_new on entries',
    'drop trigger usage_of_old on entries',
    'drop trigger usage_of_replaced on entries',
    'drop function note_usage',
    'drop function note_replaced',
    'drop table storage_usage',
    'drop table usage_changes',
    ...['bytes', 'objects', 'requests'].map((each) => `alter table accounts drop column most_${each}`),
  ];
  for (const each of undo) await sql.raw(each).execute(store.db);
  // Of a release that knows nothing of it.
  await sql`update entries set size = size + 1 where name = 'a'`.execute(store.db);
  await createUsageTables(store.db.withPlugin(createColumnTypes()) as unknown as Kysely<never>);
  expect(await put(second, 'meanwhile')).toBe(204);
  await migratePostgres(store.db, 0);
  const demo = before.get('demo') ?? { bytes: 0, objects: 0 };
  expect(await readUsage(store.db, 'demo')).toEqual({ bytes: demo.bytes + 101, objects: demo.objects + 1 });
  expect(await put(first, 'later')).toBe(204);
  expect(await findDamage(store)).toEqual([]);
  // Again, it counts nothing twice.
  await migratePostgres(store.db, 0);
  expect(await findDamage(store)).toEqual([]);
});
