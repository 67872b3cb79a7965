import { sql, type Kysely } from 'kysely';
import { addColumns, createTable } from './create-table.ts';

/** Migration step: jobs with their phases, tasks, outputs and errors. */
export async function createJobTables(db: Kysely<never>): Promise<void> {
  await createTable(
    db,
    'jobs',
    `id text key, account text, user text null, access text, name text null, phases text, state text,
      cancelled integer zero, input_done integer zero, created integer, done integer null, outputs integer zero,
      errors integer zero, retries integer zero`,
  );
  await createTable(
    db,
    'job_phases',
    `job text, phase integer, reducers integer, inputs integer zero, tasks integer zero, finished integer zero,
      closed integer zero`,
    { key: ['job', 'phase'] },
  );
  await createTaskTables(db);
  await createResultTables(db);
}

async function createTaskTables(db: Kysely<never>): Promise<void> {
  await createTable(
    db,
    'job_tasks',
    `job text, phase integer, number integer, state text, input text null, origin text null, tries integer zero`,
    { key: ['job', 'phase', 'number'], isOrdered: true },
  );
  // An index of waiting tasks: it stays small, however many tasks have ended.
  await sql`create index job_tasks_open on job_tasks (state, job, phase, number) where state = 'waiting'`.execute(db);
  await createTable(db, 'job_reduce_inputs', `job text, phase integer, number integer, reducer integer, input text`, {
    key: ['job', 'phase', 'number'],
    isOrdered: true,
  });
  await db.schema.createIndex('job_inputs_of_reducer').on('job_reduce_inputs').columns(['job', 'phase', 'reducer', 'number']).execute();
}

async function createResultTables(db: Kysely<never>): Promise<void> {
  await createTable(db, 'job_outputs', 'job text, number integer, output text', { key: ['job', 'number'], isOrdered: true });
  await createTable(db, 'job_errors', `job text, number integer, record text, input text null`, {
    key: ['job', 'number'],
    isOrdered: true,
  });
}

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

/** Migration step: which engine runs a task, until when, and which attempt it is. Unused by embedded services, which run all tasks. */
export async function addTaskLeases(db: Kysely<never>): Promise<void> {
  await addColumns(db, 'job_tasks', 'owner text null, lease integer null, attempt integer zero, lost integer zero');
  await sql`create index job_tasks_running on job_tasks (job, phase, number) where state = 'running'`.execute(db);
  await sql`create index job_tasks_suspect on job_tasks (job, phase, number) where state = 'waiting' and lost > 0`.execute(db);
}

/** Migration step: the input of phase 0 from which an input of a reducer derives; unknown for inputs that earlier releases added. */
export async function addReduceOrigins(db: Kysely<never>): Promise<void> {
  await addColumns(db, 'job_reduce_inputs', 'origin text null');
}

/** Migration step: an index that finds old completed jobs without reading the whole table. */
export async function createOldJobsIndex(db: Kysely<never>): Promise<void> {
  await sql`create index jobs_by_end on jobs (done)`.execute(db);
}
