import type { Kysely, Transaction } from 'kysely';
import { ApiError } from '../../base/errors.ts';
import type { Call } from '../http/handler.ts';
import { isPostgres } from '../store/engine-of.ts';
import type { JobRow } from '../store/job-schema.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import { placeOf, type Place } from '../storage/paths.ts';

/** Finds a job of the account in the request path. @throws {ApiError} 404 `ResourceNotFound` */
export async function requireJob(db: Kysely<Schema>, { account }: Call, id: string): Promise<JobRow> {
  const query = db.selectFrom('jobs').selectAll().where('id', '=', id).where('account', '=', account.id);
  return assertOwn(await query.executeTakeFirst(), account, id);
}

function assertOwn(job: JobRow | undefined, account: AccountRow, id: string): JobRow {
  if (job?.account === account.id) return job;
  throw new ApiError(404, 'ResourceNotFound', `the account has no job ${id}`);
}

/** Reads the row of a job and locks it until the transaction ends. Every transaction that changes a job begins with this call. */
export async function lockJob(transaction: Transaction<Schema>, id: string): Promise<JobRow | undefined> {
  const query = transaction.selectFrom('jobs').selectAll().where('id', '=', id);
  return (isPostgres(transaction) ? query.forUpdate() : query).executeTakeFirst();
}

/** Finds and locks a job of the account in the request path, to change it. @throws {ApiError} 404 `ResourceNotFound` */
export async function requireLockedJob(transaction: Transaction<Schema>, { account }: Call, id: string): Promise<JobRow> {
  return assertOwn(await lockJob(transaction, id), account, id);
}

/** The table with the inputs of a phase: those of reducers are in a table of their own. */
export async function findInputTable(db: Kysely<Schema>, job: string, phase: number): Promise<'job_reduce_inputs' | 'job_tasks'> {
  const row = await db.selectFrom('job_phases').select('reducers').where('job', '=', job).where('phase', '=', phase).executeTakeFirst();
  return (row?.reducers ?? 0) > 0 ? 'job_reduce_inputs' : 'job_tasks';
}

/** The directory of a job: `/demo/jobs/<id>`. */
export function jobDirectory(login: string, id: string): Place {
  return placeOf(login, `jobs/${id}`);
}

/** The error for an operation that the state of a job does not allow. */
export function createStateError(id: string, state: string, wanted: string): ApiError {
  return new ApiError(409, 'InvalidJobState', `job ${id} ${state}: ${wanted}`);
}
