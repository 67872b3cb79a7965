import { sql, type Kysely } from 'kysely';
import { createTable } from './create-table.ts';

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
  await db.schema
    .createIndex('job_tasks_open')
    .on('job_tasks')
    .columns(['state', 'job', 'phase', 'number'])
    .where('state' as never, '=', sql.lit('waiting'))
    .execute();
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
