import { sql, type Kysely } from 'kysely';
import { LocalError } from '../../base/errors.ts';
import type { Schema } from './schema.ts';
import { addAccountStatus } from './account-status.ts';
import {
  addCollections,
  addMemberSlots,
  createAuditTable,
  createClusterTables,
  createContentsFolder,
  createCountTable,
  createRequestTokens,
  createUploadDigestTable,
} from './cluster-tables.ts';
import { createComputeTables } from './compute-tables.ts';
import { createContentTable } from './content-table.ts';
import { addJobCallers, addReduceOrigins, addTaskLeases, createJobTables, createOldJobsIndex } from './job-tables.ts';
import { createLimitIndexes, createNamedOutputsIndex, createSelectionIndexes } from './limit-indexes.ts';
import { createFirstTables } from './tables.ts';
import { createPutObject } from './put-object-function.ts';
import { addUploadEnds, createUploadTables } from './upload-tables.ts';
import { createUsageTables } from './usage-tables.ts';

/**
 * Numbered steps that migrate a database from any earlier version to the current one. New steps are only appended. `now`: milliseconds since
 * the epoch.
 */
export const steps: readonly ((db: Kysely<never>, now: number) => Promise<void>)[] = [
  createFirstTables,
  createUploadTables,
  createComputeTables,
  createJobTables,
  addJobCallers,
  createLimitIndexes,
  createContentTable,
  addAccountStatus,
  createCountTable,
  addTaskLeases,
  createClusterTables,
  createUploadDigestTable,
  createAuditTable,
  createUsageTables,
  createOldJobsIndex,
  createRequestTokens,
  addMemberSlots,
  createContentsFolder,
  createPutObject,
  addReduceOrigins,
  addCollections,
  createSelectionIndexes,
  addUploadEnds,
  createNamedOutputsIndex,
];

export interface StepTable {
  steps: { number: number; done: number };
}

/** The version of a database's tables; 0 if there is only the table of versions. */
export async function readVersion(db: Kysely<StepTable>): Promise<number> {
  const query = db.selectFrom('steps').select((of) => of.fn.max<number | null>('number').as('last'));
  return (await query.executeTakeFirstOrThrow()).last ?? 0;
}

/** Runs the steps after a version, each in a transaction that `begin` provides. */
export async function runSteps(
  version: number,
  now: number,
  begin: (step: (transaction: Kysely<StepTable>) => Promise<void>) => Promise<void>,
): Promise<void> {
  for (const [index, step] of [...steps.entries()].slice(version))
    await begin(async (transaction) => {
      await step(transaction as unknown as Kysely<never>, now);
      const row = { number: index + 1, done: now };
      await transaction.insertInto('steps').values(row).execute();
    });
}

/**
 * Migrates the database to the newest version, each step in its own transaction.
 * @throws {LocalError} when a newer release has written to the database.
 */
export async function migrate(database: Kysely<Schema>, dir: string, now: number): Promise<void> {
  const db = database as unknown as Kysely<StepTable>;
  await sql`create table if not exists steps (number integer primary key, done integer not null)`.execute(db);
  const done = await readVersion(db);
  if (done > steps.length) {
    throw new LocalError(`data directory ${dir} was written by a newer release (version ${done}, this one knows ${steps.length})`, {
      hint: 'use that release, or another directory with --data DIR',
    });
  }
  await runSteps(done, now, (step) => db.transaction().execute(step));
}
