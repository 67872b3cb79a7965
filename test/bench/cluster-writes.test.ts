import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Store } from '../../src/server/store/store.ts';
import { openClusterStore, openPostgres } from '../../src/server/store/postgres/open.ts';
import { createWrites, type Writes } from '../../src/server/store/postgres/write.ts';
import type { EntryRow, Schema } from '../../src/server/store/schema.ts';
import { StoreUnavailable } from '../../src/server/store/unavailable.ts';
import { migrateDatabase } from '../support/cluster-database.ts';
import { delayConnections, type DelayedServer } from '../support/delayed-server.ts';
import { findDamage } from '../support/find-damage.ts';
import { median, report } from '../support/figures.ts';
import { generateLoad } from '../support/load.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { scale } from '../support/scale.ts';
import { createTestService, joinServices, type TestService } from '../support/service.ts';

/**
 * 32 writers create objects in one directory, by two gateways whose connections to PostgreSQL take 2 ms longer, as those of another machine
 * may. Compared with the transaction alone, without signatures and all else, as one would write it first: serializable, and the number of
 * entries in the row of the directory.
 */

const concurrency = 32;
const rounds = scale(1, 3);
const delay = 2;

let server: TestPostgres;
let far: DelayedServer;
let dir = '';
let first: TestService;
let stores: Store[] = [];
let databases: Kysely<Schema>[] = [];
let services: readonly Pick<TestService, 'storage'>[] = [];
let writes: readonly Writes[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-bench-'));
  server = await startPostgres();
  await migrateDatabase(server, 'bench');
  far = await delayConnections(server, delay);
  const database = far.url('bench');
  const open = (): Promise<Store> => openClusterStore({ database, bytes: dir });
  first = await createTestService({ open });
  stores = [await open()];
  services = [first, ...stores.map((store) => joinServices(store, first.key))];
  databases = [await openPostgres(database), await openPostgres(database)];
  writes = databases.map((db) => createWrites(db, undefined));
  for (const name of ['ours', 'theirs'])
    await first.storage('PUT', `/demo/stor/${name}`, { headers: { 'content-type': 'application/json; type=directory' } });
});
afterAll(async () => {
  for (const store of stores) await store.close();
  for (const db of databases) await db.destroy();
  await first.close();
  far.close();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});

/** The statements of a creation, in a serializable transaction that counts in the row of the directory; again when others are in its way. */
async function createSerially({ write }: Writes, name: string): Promise<void> {
  const [parent, above] = ['/demo/stor/theirs', '/demo/stor'];
  const content = `row/${randomUUID()}`;
  const row: EntryRow = {
    parent,
    name,
    type: 'object',
    etag: randomUUID(),
    mtime: Date.now(),
    size: 100,
    md5: 'cmVhbGx5IHNvbWUgTUQ1IA==',
    content,
    copies: 2,
    headers: '{"content-type":"application/octet-stream"}',
    role_tags: '[]',
    children: 0,
  };
  const create: Parameters<typeof write<void>>[0] = async (transaction) => {
    await transaction
      .insertInto('contents')
      .values({ id: content, bytes: Buffer.alloc(100, 'x') })
      .execute();
    await transaction.selectFrom('entries').selectAll().where('parent', '=', above).where('name', '=', 'theirs').execute();
    await transaction.selectFrom('entries').selectAll().where('parent', '=', parent).where('name', '=', name).execute();
    await transaction.insertInto('entries').values(row).execute();
    const count = transaction.updateTable('entries').set({ children: sql`children + 1` });
    await count.where('parent', '=', above).where('name', '=', 'theirs').execute();
  };
  // It gives up after some seconds.
  for (let done = false; !done;) {
    done = await write(create).then(
      () => true,
      (error: unknown) => {
        if (error instanceof StoreUnavailable) return false;
        throw error;
      },
    );
  }
}

test('creations in one directory by two gateways', { timeout: 600_000 }, async () => {
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    ours.push(
      await generateLoad({ count: scale(500, 2500), concurrency }, async (number) => {
        const body = Buffer.alloc(100, 'x');
        const { status, text } = await (services[number % 2] ?? first).storage('PUT', `/demo/stor/ours/${round}-${number}`, { body });
        if (status !== 204) throw new Error(`${status} ${text}`);
      }),
    );
    const [one, two] = writes;
    theirs.push(
      await generateLoad({ count: scale(100, 250), concurrency }, async (number) => {
        const by = number % 2 === 0 ? one : two;
        if (by) await createSerially(by, `${round}-${number}`);
      }),
    );
  }
  expect(await findDamage(first.store)).toEqual([]);
  const [our, their] = [median(ours), median(theirs)];
  report('bench', {
    name: `creations in one directory, ${concurrency} at once by two gateways, ${delay} ms to PostgreSQL; serializable transactions that count in the directory`,
    ours: `${our.toFixed(0)}/s, whole requests`,
    theirs: `${their.toFixed(0)}/s, the transaction alone`,
    ratio: our / their,
    least: 5,
  });
});
