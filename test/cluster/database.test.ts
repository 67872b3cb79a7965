import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { migratePostgres } from '../../src/server/store/postgres/migrate.ts';
import { openClusterStore, openPostgres } from '../../src/server/store/postgres/open.ts';
import { createDatabase, migrateDatabase } from '../support/cluster-database.ts';
import { runStatement, startPostgres } from '../support/postgres.ts';
import { createSandbox, type Outcome } from '../support/sandbox.ts';
import { createTestService, type TestReply } from '../support/service.ts';

/** What becomes of the services when the database is new, newer, or away. */

let dir = '';
/** Run after a test, the last one first. */
const ends: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-database-'));
});
afterEach(async () => {
  while (ends.length > 0) await ends.pop()?.();
  await rm(dir, { recursive: true, force: true });
});

async function create(options: { isEmpty?: boolean } = {}): Promise<string> {
  const { url, drop } = await createDatabase(options);
  ends.push(drop);
  return url;
}

async function open(url: string): ReturnType<typeof openPostgres> {
  const db = await openPostgres(url);
  ends.push(() => db.destroy());
  return db;
}

describe('migration', () => {
  test('two first ones at once: both succeed, and one of them has made the tables', async () => {
    const url = await create({ isEmpty: true });
    const databases = await Promise.all([open(url), open(url), open(url)]);
    const done = await Promise.all(databases.map((db) => migratePostgres(db, 1)));
    const [{ to } = { to: 0 }] = done;
    expect(done.map(({ from }) => from).toSorted((a, b) => a - b)).toEqual([0, to, to]);
    const [db] = databases;
    const steps = await sql<{ number: number }>`select number from steps order by number`.execute(db ?? (await open(url)));
    expect(steps.rows.map(({ number }) => number)).toEqual(Array.from({ length: to + 1 }, (_, number) => number));
  });

  test('one that is cut off leaves nothing, and the next one makes everything', async () => {
    const url = await create({ isEmpty: true });
    const db = await open(url);
    // The name of the last of the tables is taken: the transaction fails when most others are made.
    await sql`create table job_causes (taken bigint)`.execute(db);
    await expect(migratePostgres(db, 1)).rejects.toThrow('job_causes');
    const { rows } = await sql<{ name: string }>`
      select table_name as name from information_schema.tables where table_schema = 'public' order by 1`.execute(db);
    expect(rows.map(({ name }) => name)).toEqual(['job_causes', 'steps']);
    await sql`drop table job_causes`.execute(db);
    expect(await migratePostgres(db, 1)).toMatchObject({ from: 0 });
    await (await openClusterStore({ database: url, bytes: dir })).close();
  });

  test('tables that are missing, and those of a newer release, are refused in one line', async () => {
    const url = await create({ isEmpty: true });
    await expect(openClusterStore({ database: url, bytes: dir })).rejects.toThrow(/^the database has version 0 of the tables, .*$/u);
    const db = await open(url);
    await migratePostgres(db, 1);
    await sql`insert into steps (number, done) values (99, 1)`.execute(db);
    const newer = /^the database was migrated by a newer release \(version 99, .*$/u;
    await expect(openClusterStore({ database: url, bytes: dir })).rejects.toThrow(newer);
    await expect(migratePostgres(db, 1)).rejects.toThrow(newer);
  });

  test('texts are compared by their bytes, whatever the language of the database is', async () => {
    const db = await open(await create());
    const { rows } = await sql<{ name: string }>`
      select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = 'public' and data_type = 'text' and collation_name is distinct from 'C'`.execute(db);
    expect(rows).toEqual([]);
  });
});

describe('commands of an operator say what to change', () => {
  const run = async (url: string, ...words: string[]): Promise<Outcome> => {
    const { sandbox, remove } = createSandbox();
    ends.push(async () => remove());
    return sandbox.here(['server', ...words, '--database', url]);
  };
  const clean = (message: string, hint: string): Partial<Outcome> => ({
    code: 1,
    stderr: expect.stringMatching(new RegExp(`: ${message}.*\nhint: .*${hint}.*\n$`, 'u')),
  });

  test('when the user has no rights', async () => {
    const url = await create();
    await runStatement(url, 'do $$ begin create role weak login; exception when duplicate_object then null; end $$');
    ends.push(() => runStatement(url, 'drop role weak'));
    const weak = url.replace('user=cloud', 'user=weak');
    const refused = clean('the database refuses: permission denied for table steps', 'user who owns the database');
    for (const words of [['status'], ['audit'], ['accounts', 'list']])
      expect(await run(weak, ...words), words.join(' ')).toMatchObject(refused);
  });

  test('when the database is read-only', async () => {
    const url = await create();
    const name = new URL(url).pathname.slice(1);
    await runStatement(url, `alter database ${name} set default_transaction_read_only = on`);
    const refused = clean('the database is away: cannot execute CREATE TABLE in a read-only transaction', 'address of the primary');
    expect(await run(url, 'migrate')).toMatchObject(refused);
  });

  test('when the encoding is not UTF8', async () => {
    const url = await create({ isEmpty: true });
    await runStatement(url, `create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`);
    ends.push(() => runStatement(url, 'drop database latin'));
    const latin = url.replace(/test_\w+/u, 'latin');
    expect(await run(latin, 'migrate')).toMatchObject(clean('the database has the encoding LATIN1, and needs UTF8', '--encoding UTF8'));
    expect((await run(latin, 'status')).stdout).toContain('version 0');
  });
});

test('while the database is away requests get 503 with Retry-After, and all is well when it is back', async () => {
  const server = await startPostgres();
  ends.push(() => server.stop());
  const url = await migrateDatabase(server, 'away');
  const service = await createTestService({ open: () => openClusterStore({ database: url, bytes: dir }) });
  ends.push(() => service.close());
  const put = (name: string): Promise<TestReply> => service.storage('PUT', `/demo/stor/${name}`, { body: Buffer.from('x'.repeat(5000)) });
  // Many connections are open, and some in use, when it dies.
  expect((await Promise.all(['a', 'b', 'c', 'd'].map(put))).map(({ status }) => status)).toEqual([204, 204, 204, 204]);
  const underWay = ['e', 'f', 'g', 'h'].map(put);
  await server.crash();
  const cut = await Promise.all(underWay);
  for (const { status } of cut) expect([204, 503]).toContain(status);
  for (const response of [await service.storage('GET', '/demo/stor/a'), await service.compute('GET', '/my/keys'), await put('later')]) {
    expect([response.status, response.code, response.headers['retry-after']]).toEqual([503, 'ServiceUnavailable', '1']);
    expect(response.text).not.toMatch(/ENOENT|ECONNREFUSED|PGSQL/u);
  }
  await server.start();
  // Nothing that was acknowledged is lost: the crash ends no transaction that was committed.
  for (const [index, { status }] of cut.entries())
    if (status === 204) expect((await service.storage('GET', `/demo/stor/${'efgh'[index]}`)).status).toBe(200);
  expect((await service.storage('GET', '/demo/stor/a')).text).toHaveLength(5000);
  expect((await put('after')).status).toBe(204);
});
