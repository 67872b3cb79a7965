import { sql, type Transaction } from 'kysely';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** Rows removed in one transaction: none keeps others waiting. */
const batchSize = 500;

/** Whom a job belongs to whose rows are being removed. */
const nobody = '';

/** Tables of a job, with what numbers their rows in it. */
export const jobTables = [
  ['job_tasks', ['phase', 'number']],
  ['job_reduce_inputs', ['phase', 'number']],
  ['job_outputs', ['number']],
  ['job_errors', ['number']],
  ['job_causes', ['cause']],
  ['job_adders', ['number']],
  ['job_phases', ['phase']],
] as const satisfies readonly (readonly [keyof Schema, readonly string[]])[];

/** Removes some rows of a job, the job last, so that an interrupted run finds the rest again. @returns how many; none when all are gone */
export async function removeRowsOf(transaction: Transaction<Schema>, job: string): Promise<number> {
  for (const [table, numbers] of jobTables) {
    const columns = sql.join(numbers.map((name) => sql.ref(name)));
    const { numAffectedRows = 0n } = await sql`
      delete from ${sql.table(table)} where job = ${job} and (${columns}) in
      (select ${columns} from ${sql.table(table)} where job = ${job} limit ${batchSize})`.execute(transaction);
    if (numAffectedRows > 0n) return Number(numAffectedRows);
  }
  const { numDeletedRows } = await transaction.deleteFrom('jobs').where('id', '=', job).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/**
 * Forgets jobs that have been done for long: from then on they are known by the files that they left in their directories. What is
 * interrupted is gone on with by the next call; in the meantime the job belongs to nobody, so that no part of it is shown for the whole.
 * @param before those that were done earlier, milliseconds since the epoch
 * @param most rows removed at most, about
 * @returns rows removed
 */
export async function forgetOldJobs({ db, write }: Pick<Store, 'db' | 'write'>, before: number, most: number): Promise<number> {
  let removed = 0;
  while (removed < most) {
    const job = await db
      .selectFrom('jobs')
      .select(['id', 'account'])
      .where('state', '=', 'done')
      .where('done', '<', before)
      .orderBy('done')
      .limit(1)
      .executeTakeFirst();
    if (job === undefined) return removed;
    const { id, account } = job;
    // The first that the next call finds.
    if (account !== nobody)
      await write((transaction) => transaction.updateTable('jobs').set({ account: nobody, done: 0 }).where('id', '=', id).execute());
    for (let some = 1; some > 0 && removed < most; removed += some) some = await write((transaction) => removeRowsOf(transaction, id));
  }
  return removed;
}
