import { hash, randomUUID } from 'node:crypto';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { JobError } from '../../api/objects.ts';
import type { Listing } from '../../api/operation.ts';
import type { storage } from '../../api/storage.ts';
import { createDigestSet } from '../../base/digest-set.ts';
import { setNewest } from '../../base/newest.ts';
import type { Handler } from '../http/handler.ts';
import { mapForEachStore } from '../storage/for-each-store.ts';
import { isPostgres } from '../store/engine-of.ts';
import { readPages } from '../store/read-pages.ts';
import type { Schema } from '../store/schema.ts';
import type { JobErrorRow, JobOutputRow, JobRow, JobSchema, JobTaskRow } from '../store/job-schema.ts';
import type { Store } from '../store/store.ts';
import { fillTemplate, readRecord } from './error-record.ts';
import { findInputTable, requireJob } from './find.ts';

/** Rows per query. */
const pageSize = 1000;

/** Rows of a table that belong to a job, ordered by number. */
async function* readRows<Row extends { readonly number: number }>(
  db: Kysely<Schema>,
  table: keyof JobSchema,
  columns: readonly (keyof Row & string)[],
  where: RawBuilder<unknown>,
  signal?: AbortSignal,
): AsyncGenerator<Row> {
  for await (const rows of readPages<Row>(db, table, { key: ['number'], columns, where, size: pageSize, signal })) yield* rows;
}

/** The inputs of a job, in the order in which they were added. */
export async function* readInputs(db: Kysely<Schema>, job: string, signal?: AbortSignal): AsyncGenerator<string> {
  const table = await findInputTable(db, job, 0);
  const rows = readRows<Pick<JobTaskRow, 'number' | 'input'>>(db, table, ['number', 'input'], sql`job = ${job} and phase = 0`, signal);
  for await (const { input } of rows) if (input !== null) yield input;
}

/** The outputs of the last phase, in the order of their arrival. */
export async function* readOutputs(db: Kysely<Schema>, job: string, signal?: AbortSignal): AsyncGenerator<string> {
  type Row = Pick<JobOutputRow, 'number' | 'output'>;
  const rows = readRows<Row>(db, 'job_outputs', ['number', 'output'], sql`job = ${job}`, signal);
  for await (const { output } of rows) yield output;
}

function readErrorRows(db: Kysely<Schema>, job: string, signal?: AbortSignal): AsyncGenerator<Omit<JobErrorRow, 'job'>> {
  return readRows<Omit<JobErrorRow, 'job'>>(db, 'job_errors', ['number', 'record', 'input', 'cause'], sql`job = ${job}`, signal);
}

/** Maximum number of failed inputs that are recognized when they are repeated: their digests take 16 MiB. */
const mostKept = 500_000;

/** Maximum number of jobs whose number of failed inputs is remembered. */
const mostCounts = 1000;

const findCounts = mapForEachStore<number>();

function nameCount({ id, errors }: Pick<JobRow, 'id' | 'errors'>): string {
  return `${id} ${errors}`;
}

/**
 * The failed inputs of a job, each once, in the order of their errors. Those of jobs with very many errors are divided by a digest into
 * parts, which are read one after the other. Then their number is known.
 */
export async function* readFailures(store: Store, job: Pick<JobRow, 'id' | 'errors'>, signal?: AbortSignal): AsyncGenerator<string> {
  const { id, errors } = job;
  const where = sql`job = ${id} and number < ${errors}`;
  const page = { key: ['number'] as const, columns: ['number', 'input'] as const, where, size: pageSize, signal };
  const parts = Math.ceil(errors / mostKept);
  // Nobody can choose inputs for their digests.
  const secret = randomUUID();
  let count = 0;
  for (let part = 0; part < parts; part += 1) {
    const kept = createDigestSet(Math.min(errors, mostKept));
    for await (const rows of readPages<Pick<JobErrorRow, 'number' | 'input'>>(store.db, 'job_errors', page)) {
      for (const { input } of rows) {
        if (input === null) continue;
        const digest = hash('md5', `${secret}${input}`, 'buffer');
        if ((parts > 1 && digest.readUInt32LE(4) % parts !== part) || !kept.add(digest)) continue;
        count += 1;
        yield input;
      }
    }
  }
  setNewest(findCounts(store), nameCount(job), count, mostCounts);
}

/**
 * The number of failed inputs of a job, each counted once. It is remembered until the job has more errors: for a million errors it takes
 * seconds. With SQLite the inputs are read in pages, because one statement would hold up the whole service for most of a second.
 */
export async function countFailedInputs(store: Store, job: Pick<JobRow, 'id' | 'errors'>): Promise<number> {
  const counts = findCounts(store);
  const known = counts.get(nameCount(job));
  if (known !== undefined) return known;
  if (!isPostgres(store.db)) {
    let count = 0;
    for await (const _ of readFailures(store, job)) count += 1;
    return count;
  }
  const { count } = await store.db
    .selectFrom('job_errors')
    .select(({ fn }) => fn.count<number>('input').distinct().as('count'))
    .where('job', '=', job.id)
    .where('number', '<', job.errors)
    .executeTakeFirstOrThrow();
  setNewest(counts, nameCount(job), count, mostCounts);
  return count;
}

async function findTemplate(db: Kysely<Schema>, job: string, cause: number): Promise<string> {
  const query = db.selectFrom('job_causes').select('template').where('job', '=', job).where('cause', '=', cause);
  return (await query.executeTakeFirstOrThrow()).template;
}

/** The error records of a job. */
export async function* readErrors(db: Kysely<Schema>, job: string, signal?: AbortSignal): AsyncGenerator<JobError> {
  const templates = new Map<number, string>();
  for await (const { number, record, input, cause } of readErrorRows(db, job, signal)) {
    if (cause === null || input === null) {
      yield readRecord(record);
      continue;
    }
    const template = templates.get(cause) ?? (await findTemplate(db, job, cause));
    templates.set(cause, template);
    yield fillTemplate(template, { job, number, input });
  }
}

function answer<T>(count: number, records: AsyncGenerator<T>): Listing<T> {
  return { headers: { 'result-set-size': String(count) }, records };
}

export const getJobInput: Handler<typeof storage.getJobInput> = async ({ id }, call) => {
  const { db } = call.store;
  await requireJob(db, call, id);
  const first = await db.selectFrom('job_phases').select('inputs').where('job', '=', id).where('phase', '=', 0).executeTakeFirst();
  return answer(first?.inputs ?? 0, readInputs(db, id));
};

export const getJobOutput: Handler<typeof storage.getJobOutput> = async ({ id }, call) => {
  const { outputs } = await requireJob(call.store.db, call, id);
  return answer(outputs, readOutputs(call.store.db, id));
};

export const getJobFailures: Handler<typeof storage.getJobFailures> = async ({ id }, call) => {
  const { db } = call.store;
  const job = await requireJob(db, call, id);
  return answer(await countFailedInputs(call.store, job), readFailures(call.store, job));
};

export const getJobErrors: Handler<typeof storage.getJobErrors> = async ({ id }, call) => {
  const { errors } = await requireJob(call.store.db, call, id);
  return answer(errors, readErrors(call.store.db, id));
};
