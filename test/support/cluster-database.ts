import { randomUUID } from 'node:crypto';
import { migratePostgres } from '../../src/server/store/postgres/migrate.ts';
import { openClusterStore, openPostgres } from '../../src/server/store/postgres/open.ts';
import { openStore, type LocalStore } from '../../src/server/store/open.ts';
import { chooseTestS3 } from './byte-stores.ts';
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
  const server = await startPostgres();
  await migrateDatabase(server, template);
  process.env[variable] = server.url('TEMPLATE');
  return async () => {
    delete process.env[variable];
    await server.stop();
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

/** An empty store for a test: on PostgreSQL in a run that has one, else on SQLite; its contents are where the run has them. */
export async function openTestStore(dir: string): Promise<LocalStore> {
  if (!runsOnPostgres()) return openStore(dir);
  const { url, drop } = await createDatabase();
  const store = await openClusterStore({ database: url, bytes: chooseTestS3(dir) ?? dir });
  return {
    ...store,
    close: async () => {
      await store.close();
      await drop();
    },
  };
}
