import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/server/store/store.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { lacksPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { runStatement } from '../support/postgres.ts';
import { createTestService, joinServices, type JoinedServices, type TestService } from '../support/service.ts';

/** Queries of most requests are prepared by name on each connection: PostgreSQL reads and plans them once. */

let database: Awaited<ReturnType<typeof createDatabase>>;
let dir = '';
let first: TestService;
const stores: Store[] = [];

/** Another gateway. */
async function join(url: string, connections?: number): Promise<JoinedServices & { store: Store }> {
  const store = await openClusterStore({ database: url, bytes: dir, connections });
  stores.push(store);
  return { ...joinServices(store, first.key), store };
}

beforeAll(async () => {
  database = await createDatabase();
  dir = await mkdtemp(joinPath(tmpdir(), 'cloud-prepared-'));
  first = await createTestService({ open: () => openClusterStore({ database: database.url, bytes: dir }) });
});
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await first.close();
  await database.drop();
  await rm(dir, { recursive: true, force: true });
});

async function use({ storage }: JoinedServices, name: string): Promise<void> {
  const made = await storage('PUT', `/demo/stor/${name}`, { headers: { 'content-type': 'application/json; type=directory' } });
  expect([made.status, made.text]).toEqual([204, '']);
  const put = await storage('PUT', `/demo/stor/${name}/a`, { body: Buffer.from(name) });
  expect([put.status, put.text]).toEqual([204, '']);
  const got = await storage('GET', `/demo/stor/${name}/a`);
  expect([got.status, got.text]).toEqual([200, name]);
  expect((await storage('GET', `/demo/stor/${name}`)).text).toContain('"name":"a"');
}

test('each is prepared once on a connection', async () => {
  const gateway = await join(database.url, 1);
  for (const name of ['one', 'two', 'three']) await use(gateway, name);
  const { rows } = await sql<{ name: string; statement: string }>`
    select name, statement from pg_prepared_statements`.execute(gateway.store.db);
  expect(rows.filter(({ statement }) => statement.includes('put_object('))).toHaveLength(1);
  expect(rows.every(({ name }) => /^cloud_[\da-f]{40}$/u.test(name))).toBe(true);
});

test('a newer release adds columns while a gateway serves: no request fails', async () => {
  const gateway = await join(database.url);
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => use(gateway, `before-${name}`)));
  for (const table of ['accounts', 'keys', 'entries', 'contents', 'limits'])
    await runStatement(database.url, `alter table ${table} add column of_a_newer_release text`);
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => use(gateway, `after-${name}`)));
});

describe.skipIf(lacksPgbouncer())('behind a pooler that gives a connection to one transaction after the other', () => {
  test('requests of two gateways succeed', async () => {
    const pooler = await startPgbouncer(database.url);
    try {
      const gateways = [await join(pooler.url), await join(pooler.url)];
      await Promise.all(
        gateways.flatMap((gateway, at) => Array.from({ length: 20 }, (_, number) => use(gateway, `pooled-${at}-${number}`))),
      );
    } finally {
      await Promise.all(stores.splice(-2).map((store) => store.close()));
      await pooler.stop();
    }
  });
});
