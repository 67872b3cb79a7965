import type { Kysely } from 'kysely';
import { addColumns, createTable } from './create-table.ts';

/**
 * Migration step: the caller for whom a job reads each path, and short error records. Rows of earlier releases keep their meaning: without
 * a creator, the job's account is the creator; without an adder, the creator added the input; an error without a cause contains its whole
 * record.
 */
export async function addJobCallers(db: Kysely<never>): Promise<void> {
  await addColumns(db, 'jobs', 'creator text null');
  await createTable(db, 'job_adders', `job text, number integer, account text, user text null, access text`, {
    key: ['job', 'number'],
    isOrdered: true,
  });
  for (const table of ['job_tasks', 'job_reduce_inputs']) await addColumns(db, table, 'adder integer null, given integer zero');
  await addColumns(db, 'job_outputs', 'given integer zero');
  await createTable(db, 'job_causes', 'job text, cause integer, template text', { key: ['job', 'cause'], isOrdered: true });
  await addColumns(db, 'job_errors', 'cause integer null');
}
