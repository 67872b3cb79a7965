import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { migratePostgres } from '../../src/server/store/postgres/migrate.ts';
import { openClusterStore, openPostgres, type ClusterStoreOptions } from '../../src/server/store/postgres/open.ts';
import { collect, type Collected, type CollectOptions } from '../../src/server/cluster-collector.ts';
import type { Store } from '../../src/server/store/store.ts';
import { chooseTestS3 } from './byte-stores.ts';
import type { Schema } from '../../src/server/store/schema.ts';
import { takeLease, type Lease } from '../../src/server/store/postgres/lease.ts';
import { openNewStore } from './new-store.ts';
import { preparePostgresPrograms } from './postgres-programs.ts';
import { runStatement, startPostgres, type TestPostgres } from './postgres.ts';

/** Databases of tests that run on PostgreSQL: each is a copy of one that was migrated once. */

/** The variable that says where the tests run: the URL of a database to copy, with its name as `TEMPLATE`. */
const variable = 'CLOUD_TEST_POSTGRES';
const template = 'cloud_template';

function nameDatabase(pattern: string, name: string): string {
  return pattern.replace('/TEMPLATE?', `/${name}?`);
}

/** Whether the contract tests run on PostgreSQL, and not on SQLite. */
export function runsOnPostgres(): boolean {
  return process.env[variable] !== undefined;
}

/** Makes the tables of a new database. */
export async function migrateDatabase(server: TestPostgres, name: string): Promise<string> {
  await runStatement(server.url('postgres'), `create database ${name}`);
  const db = await openPostgres(server.url(name));
  await migratePostgres(db, Date.now());
  await db.destroy();
  return server.url(name);
}

/** Starts PostgreSQL for all tests of a run. @returns what stops it */
export async function prepareCluster(): Promise<() => Promise<void>> {
  const removePrograms = preparePostgresPrograms();
  const server = await startPostgres();
  await migrateDatabase(server, template);
  process.env[variable] = server.url('TEMPLATE');
  return async () => {
    delete process.env[variable];
    await server.stop();
    removePrograms();
  };
}

/** Makes a database with all tables, or without any. @returns its URL, and what removes it */
export async function createDatabase({ isEmpty = false } = {}): Promise<{ url: string; drop: () => Promise<void> }> {
  const pattern = process.env[variable];
  if (pattern === undefined) throw new Error('these tests run by npm run test:cluster');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const admin = nameDatabase(pattern, 'postgres');
  await runStatement(admin, `create database ${name} template ${isEmpty ? 'template0' : template}`);
  return { url: nameDatabase(pattern, name), drop: () => runStatement(admin, `drop database if exists ${name} with (force)`) };
}

/** A database and a folder of contents, for several stores over both. */
export interface SharedPlace {
  readonly url: string;
  readonly dir: string;
  readonly open: () => Promise<Store>;
  readonly remove: () => Promise<void>;
}

/** Makes a database with all tables, and a folder. */
export async function createSharedPlace(): Promise<SharedPlace> {
  const { url, drop } = await createDatabase();
  const dir = await mkdtemp(join(tmpdir(), 'cloud-shared-'));
  return {
    url,
    dir,
    open: () => openClusterStore({ database: url, bytes: dir }),
    remove: async () => {
      await drop();
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Seconds for which the lease of a test holds that nobody renews. */
const longLease = 86_400;

/** A store as a gateway has it, with the lease of that. */
export interface LeasedStore {
  readonly store: Store;
  readonly lease: Lease;
}

/** Opens a database that was migrated as a gateway does. @param clock milliseconds, of the process */
export async function openLeased(url: string, bytes: ClusterStoreOptions['bytes'], clock?: () => number): Promise<LeasedStore> {
  const own = await openPostgres(url, 1);
  const lease = await takeLease(own, { address: 'a test', lifetime: longLease, clock });
  const store = await openClusterStore({ database: url, bytes, admission: lease, beginReading: () => lease.begin().end });
  const end = async (): Promise<void> => {
    await store.close();
    await lease.release();
    await own.destroy();
  };
  let ending: Promise<void> | undefined;
  // As a store of one process it may be closed again.
  return { lease, store: { ...store, close: () => (ending ??= end()) } };
}

const leases = new WeakMap<object, Lease>();

/** Renewals after which what still runs is what holds the start of the oldest work back, and not the time that an answer took. */
const mostRenewals = 10;

/** Renews a lease until it tells that nothing runs which began before now, or that something does. */
export async function catchUp(db: Kysely<Schema>, lease: Pick<Lease, 'id' | 'renew'>): Promise<void> {
  const { rows } = await sql<{ now: string }>`select cast(clock_timestamp() as text) as now`.execute(db);
  for (let renewals = 0; renewals < mostRenewals; renewals += 1) {
    await lease.renew();
    const found = await sql`select id from gateways where id = ${lease.id} and oldest >= cast(${rows[0]?.now} as timestamptz)`.execute(db);
    if (found.rows.length > 0) return;
    await sleep(5);
  }
}

/** Removes what nothing refers to and nobody reads, where no store of one process alone does that at once. */
export async function collectContents(
  store: Store,
  options: Partial<CollectOptions> = {},
  lease: Pick<Lease, 'id' | 'renew'> | undefined = leases.get(store),
): Promise<Collected | undefined> {
  if (!runsOnPostgres()) return undefined;
  await collect({ store, sweep: false, ...options, dryRun: true });
  // From here on the gateway is known to have begun nothing before what was seen.
  if (lease) await catchUp(store.db, lease);
  return collect({ store, sweep: false, ...options });
}

/** An empty store for a test: on PostgreSQL in a run that has one, else on SQLite; its contents are where the run has them. */
export async function openTestStore(dir: string): Promise<Store> {
  if (!runsOnPostgres()) {
    const store = await openNewStore(dir);
    // A flush to the disk takes longer than all else that a request does; what survives a power failure is proven elsewhere.
    await sql`PRAGMA synchronous=OFF`.execute(store.db);
    return store;
  }
  const { url, drop } = await createDatabase();
  const { store, lease } = await openLeased(url, chooseTestS3(dir) ?? dir);
  const opened = {
    ...store,
    close: async () => {
      await store.close();
      await drop();
    },
  };
  leases.set(opened, lease);
  return opened;
}
