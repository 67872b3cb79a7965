import { sql } from 'kysely';
import { checkInterrupted } from '../../../base/errors.ts';
import { jobTables } from '../../jobs/old-jobs.ts';
import { countRows } from '../../store/count-rows.ts';
import { readPages } from '../../store/read-pages.ts';
import type { Schema } from '../../store/schema.ts';
import { skip } from '../../store/skip.ts';
import type { Store } from '../../store/store.ts';

/** Imports records of completed jobs, and uploads: what is known of them outside the object storage. */

/** Rows per transaction. */
const batchSize = 500;

type Row = Readonly<Record<string, unknown>>;

/** What to copy, and the signal that stops copying between two transactions. */
export interface RecordCopy {
  readonly from: Store;
  readonly to: Store;
  /** Ids of the accounts whose records are copied. */
  readonly accounts: readonly string[];
  readonly signal: AbortSignal;
}

/** Number of copied records. */
export interface CopiedRecords {
  readonly jobs: number;
  readonly uploads: number;
}

/** Adds rows; rows of earlier runs are kept. */
async function addRows({ to }: RecordCopy, table: keyof Schema, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const values = rows as never[];
  await to.write((transaction) =>
    transaction
      .insertInto(table as 'networks')
      .values(values)
      .onConflict(skip)
      .execute(),
  );
}

/** Marks an unfinished task of a cancelled job as failed: nobody will run it any more. */
function endTask(row: Row): Row {
  return row['state'] === 'waiting' || row['state'] === 'running' ? { ...row, state: 'failed', owner: null, lease: null } : row;
}

/** Copies the job itself last, so that it is never visible without all of its rows. */
async function copyJob(copy: RecordCopy, job: Row & { readonly id: string }): Promise<void> {
  for (const [table, key] of jobTables) {
    for await (const rows of readPages<Row>(copy.from.db, table, { key, where: sql`job = ${job.id}`, size: batchSize })) {
      checkInterrupted(copy.signal);
      await addRows(copy, table, table === 'job_tasks' ? rows.map(endTask) : rows);
    }
  }
  await addRows(copy, 'jobs', [job]);
}

/** Copies completed jobs and all uploads, whose parts are entries of the object storage. Records of earlier runs are kept. */
export async function copyRecords(copy: RecordCopy): Promise<CopiedRecords> {
  let [jobs, uploads] = [0, 0];
  const isOwn = sql<boolean>`account in (${sql.join(copy.accounts)})`;
  const done = { key: ['id'] as const, where: sql`state = 'done' and ${isOwn}`, size: batchSize };
  for await (const batch of readPages<Row & { readonly id: string }>(copy.from.db, 'jobs', done)) {
    for (const job of batch) {
      checkInterrupted(copy.signal);
      const there = await copy.to.db.selectFrom('jobs').select('id').where('id', '=', job.id).executeTakeFirst();
      if (!there) await copyJob(copy, job);
    }
    jobs += batch.length;
  }
  for await (const batch of readPages<Row>(copy.from.db, 'uploads', { key: ['id'], where: isOwn, size: batchSize })) {
    checkInterrupted(copy.signal);
    await addRows(copy, 'uploads', batch);
    uploads += batch.length;
  }
  return { jobs, uploads };
}

/** Counts the records of accounts in a cluster. @param accounts their ids */
export async function countRecords({ db }: Pick<Store, 'db'>, accounts: readonly string[]): Promise<CopiedRecords> {
  return {
    jobs: await countRows(db.selectFrom('jobs').where('account', 'in', accounts)),
    uploads: await countRows(db.selectFrom('uploads').where('account', 'in', accounts)),
  };
}
