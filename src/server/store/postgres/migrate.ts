import { sql, type Kysely } from 'kysely';
import { LocalError } from '../../../base/errors.ts';
import { steps, type StepTable } from '../migrations.ts';
import type { Schema } from '../schema.ts';
import { skip } from '../skip.ts';
import { countEarlier } from '../usage.ts';
import { createColumnTypes } from './column-types.ts';
import { isRepeatable } from './errors.ts';

/** The row that whoever migrates locks, before anything else is looked at. */
const lockRow = 0;

/** Number of the advisory lock under which the table of versions is made. */
const tableLock = 7_215_304;

async function createStepTable(database: Kysely<StepTable>): Promise<void> {
  await database.transaction().execute(async (db) => {
    // `if not exists` alone is no answer where two make it at once: the second one fails at the name, the type or the index of the table.
    await sql`select pg_advisory_xact_lock(${tableLock})`.execute(db);
    await sql`create table if not exists steps (number bigint primary key, done bigint not null)`.execute(db);
    const row = { number: lockRow, done: 0 };
    await db.insertInto('steps').values(row).onConflict(skip).execute();
  });
}

function refuseNewer(done: number): LocalError {
  return new LocalError(`the database was migrated by a newer release (version ${done}, this one knows ${steps.length})`, {
    hint: 'use that release, or another database',
  });
}

/** The version of the tables of a database; 0 when only the table of versions is there. */
export async function readVersion(db: Kysely<StepTable>): Promise<number> {
  const query = db.selectFrom('steps').select((of) => of.fn.max<number>('number').as('last'));
  return (await query.executeTakeFirstOrThrow()).last;
}

/** Times that the steps are tried where the transactions of gateways that go on serving are in their way. */
const attempts = 10;

/** Does work in a transaction, again when another was in its way: of two that wait for each other PostgreSQL ends one. */
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
 * Brings a PostgreSQL database to the newest version: all steps that are missing in one transaction, under a lock. Any number may try at
 * once, and again is the same.
 * @returns the versions before and after.
 * @throws {LocalError} when a newer release of the program has written it.
 */
export async function migratePostgres(database: Kysely<Schema>, now: number): Promise<{ from: number; to: number }> {
  const db = database.withPlugin(createColumnTypes()) as unknown as Kysely<StepTable>;
  await createStepTable(db);
  const versions = await inTransaction(db, async (transaction) => {
    await transaction.selectFrom('steps').select('number').where('number', '=', lockRow).forUpdate().execute();
    const done = await readVersion(transaction);
    if (done > steps.length) throw refuseNewer(done);
    for (const [index, step] of [...steps.entries()].slice(done)) {
      await step(transaction as unknown as Kysely<never>);
      const row = { number: index + 1, done: now };
      await transaction.insertInto('steps').values(row).execute();
    }
    return { from: done, to: steps.length };
  });
  await countEarlier(database);
  return versions;
}

/** @throws {LocalError} unless the database has exactly the version that this release knows */
export async function assertMigrated(database: Kysely<Schema>): Promise<void> {
  const db = database as unknown as Kysely<StepTable>;
  const { rows } = await sql<{ known: boolean }>`select to_regclass('steps') is not null as known`.execute(db);
  const done = rows[0]?.known === true ? await readVersion(db) : 0;
  if (done > steps.length) throw refuseNewer(done);
  if (done === steps.length) return;
  throw new LocalError(`the database has version ${done} of the tables, and this release needs ${steps.length}`, {
    hint: 'cloud server migrate',
  });
}
