import { sql, type RawBuilder, type Transaction } from 'kysely';
import type { JobSchema } from '../store/job-schema.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** Rows removed per transaction, so few that none blocks others for long. */
const batchSize = 500;

/** Account of a job whose rows are being removed. */
const nobody = '';

/** A table with rows of jobs, beside that of the jobs themselves. */
type JobTable = Exclude<keyof JobSchema, 'jobs'>;

/** The columns that identify a row within a job. */
const rowKeys: { readonly [T in JobTable]: readonly (keyof JobSchema[T] & string)[] } = {
  job_tasks: ['phase', 'number'],
  job_reduce_inputs: ['phase', 'number'],
  job_outputs: ['number'],
  job_errors: ['number'],
  job_causes: ['cause'],
  job_adders: ['number'],
  job_phases: ['phase'],
};

/** Tables with rows of jobs, and the columns that identify a row within a job. */
export const jobTables = Object.entries(rowKeys) as readonly (readonly [JobTable, readonly string[]])[];

/** Maximum number of jobs forgotten together: a transaction for each would take longer than everything else. */
const mostJobs = 100;

/**
 * Removes some rows of jobs, the rows of the jobs themselves last, so that a later run finds what an interrupted one left. @returns number
 * of rows; 0 when all are gone
 */
export async function removeRowsOf(transaction: Transaction<Schema>, jobs: readonly string[]): Promise<number> {
  const ofJobs = sql`job in (${sql.join(jobs)})`;
  for (const [table, numbers] of jobTables) {
    const columns = sql.join(['job', ...numbers].map((name) => sql.ref(name)));
    const { numAffectedRows = 0n } = await sql`
      delete from ${sql.table(table)} where ${ofJobs} and (${columns}) in
      (select ${columns} from ${sql.table(table)} where ${ofJobs} limit ${batchSize})`.execute(transaction);
    if (numAffectedRows > 0n) return Number(numAffectedRows);
  }
  const { numDeletedRows } = await transaction.deleteFrom('jobs').where('id', 'in', jobs).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/**
 * Forgets jobs that were done long ago: after that, only the files in their directories remain. The next call continues an interrupted
 * removal. In the meantime the jobs belong to nobody, so that no remainder is shown as the whole job.
 * @param before jobs done earlier than this are forgotten, milliseconds since the epoch
 * @param most maximum number of rows to remove, approximately
 * @returns number of rows removed
 */
export async function forgetOldJobs(
  { db, write }: Pick<Store, 'db' | 'write'>,
  before: number | RawBuilder<number>,
  most: number,
): Promise<number> {
  let removed = 0;
  while (removed < most) {
    const jobs = await db
      .selectFrom('jobs')
      .select(['id', 'account'])
      .where('state', '=', 'done')
      .where('done', '<', before)
      .orderBy('done')
      .limit(mostJobs)
      .execute();
    if (jobs.length === 0) return removed;
    const ids = jobs.map(({ id }) => id);
    // With `done: 0` these jobs are the first ones that the next call finds.
    if (jobs.some(({ account }) => account !== nobody))
      await write((transaction) => transaction.updateTable('jobs').set({ account: nobody, done: 0 }).where('id', 'in', ids).execute());
    for (let some = 1; some > 0 && removed < most; removed += some) some = await write((transaction) => removeRowsOf(transaction, ids));
  }
  return removed;
}
