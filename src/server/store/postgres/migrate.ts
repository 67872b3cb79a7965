import { sql, type Kysely } from 'kysely';
import { LocalError } from '../../../base/errors.ts';
import { readVersion, runSteps, steps, type StepTable } from '../migrations.ts';
import type { Schema } from '../schema.ts';
import { skip } from '../skip.ts';
import { countEarlier } from '../usage.ts';
import { createColumnTypes } from './column-types.ts';
import { isRepeatable } from './errors.ts';

/** The row that a migration locks before it reads anything else. */
const lockRow = 0;

/** @throws {LocalError} if the encoding cannot store all names; PostgreSQL cannot change the encoding of a database. */
async function assertEncoding(db: Kysely<StepTable>): Promise<void> {
  const { rows } = await sql<{ encoding: string }>`select current_setting('server_encoding') as encoding`.execute(db);
  const encoding = rows[0]?.encoding;
  if (encoding === 'UTF8') return;
  throw new LocalError(`the database has the encoding ${encoding}, and needs UTF8`, {
    hint: 'create another one: createdb --encoding UTF8 --template template0 NAME',
  });
}

/** Number of the advisory lock under which the table of versions is created. */
const tableLock = 7_215_304;

async function createStepTable(database: Kysely<StepTable>): Promise<void> {
  await database.transaction().execute(async (db) => {
    // `if not exists` is not enough for concurrent attempts: the second one fails at the name, type or index of the table.
    await sql`select pg_advisory_xact_lock(${tableLock})`.execute(db);
    await sql`create table if not exists steps (number bigint primary key, done bigint not null)`.execute(db);
    const row = { number: lockRow, done: 0 };
    await db.insertInto('steps').values(row).onConflict(skip).execute();
  });
}

function createNewerError(done: number): LocalError {
  return new LocalError(`the database was migrated by a newer release (version ${done}, this one knows ${steps.length})`, {
    hint: 'use that release, or another database',
  });
}

/** Maximum number of attempts if transactions of gateways that keep serving conflict with the migration. */
const attempts = 10;

/** Runs work in a transaction, and retries it after a conflict: PostgreSQL aborts one of two deadlocked transactions. */
async function inTransaction<T>(db: Kysely<StepTable>, work: (transaction: Kysely<StepTable>) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(work);
    } catch (error) {
      if (attempt >= attempts || !isRepeatable(error)) throw error;
    }
  }
}

/**
 * Migrates a PostgreSQL database to the newest version: all missing steps in one transaction, under a lock. It may be called concurrently
 * and repeatedly.
 * @returns the versions before and after.
 * @throws {LocalError} when a newer release has migrated the database, or a new one has another encoding than UTF8.
 */
export async function migratePostgres(database: Kysely<Schema>, now: number): Promise<{ from: number; to: number }> {
  const db = database.withPlugin(createColumnTypes()) as unknown as Kysely<StepTable>;
  if ((await findVersion(database)) === 0) await assertEncoding(db);
  await createStepTable(db);
  const versions = await inTransaction(db, async (transaction) => {
    await transaction.selectFrom('steps').select('number').where('number', '=', lockRow).forUpdate().execute();
    const done = await readVersion(transaction);
    if (done > steps.length) throw createNewerError(done);
    await runSteps(done, now, (step) => step(transaction));
    return { from: done, to: steps.length };
  });
  await countEarlier(database);
  return versions;
}

/** The version of the tables of a database; 0 if it has none. */
export async function findVersion(database: Kysely<Schema>): Promise<number> {
  const { rows } = await sql<{ known: boolean }>`select to_regclass('steps') is not null as known`.execute(database);
  return rows[0]?.known === true ? readVersion(database as unknown as Kysely<StepTable>) : 0;
}

/** @throws {LocalError} unless the database has exactly the version of this release */
export async function assertMigrated(database: Kysely<Schema>): Promise<void> {
  const done = await findVersion(database);
  if (done > steps.length) throw createNewerError(done);
  if (done === steps.length) return;
  throw new LocalError(`the database has version ${done} of the tables, and this release needs ${steps.length}`, {
    hint: 'cloud server migrate',
  });
}
