import { sql, type Kysely } from 'kysely';

/** Migration step: jobs with their phases, tasks, outputs and errors. */
export async function createJobTables(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('jobs')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('user', 'text')
    .addColumn('access', 'text', (column) => column.notNull())
    .addColumn('name', 'text')
    .addColumn('phases', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('cancelled', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('input_done', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('created', 'integer', (column) => column.notNull())
    .addColumn('done', 'integer')
    .addColumn('outputs', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('errors', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('retries', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createTable('job_phases')
    .addColumn('job', 'text', (column) => column.notNull())
    .addColumn('phase', 'integer', (column) => column.notNull())
    .addColumn('reducers', 'integer', (column) => column.notNull())
    .addColumn('inputs', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('tasks', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('finished', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('closed', 'integer', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('job_phases_key', ['job', 'phase'])
    .execute();
  await createTaskTables(db);
  await createResultTables(db);
}

async function createTaskTables(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('job_tasks')
    .addColumn('job', 'text', (column) => column.notNull())
    .addColumn('phase', 'integer', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('input', 'text')
    .addColumn('origin', 'text')
    .addColumn('tries', 'integer', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('job_tasks_key', ['job', 'phase', 'number'])
    .modifyEnd(sql`without rowid`)
    .execute();
  // An index of waiting tasks: it stays small, however many tasks have ended.
  await db.schema
    .createIndex('job_tasks_open')
    .on('job_tasks')
    .columns(['state', 'job', 'phase', 'number'])
    .where('state' as never, '=', sql.lit('waiting'))
    .execute();
  await db.schema
    .createTable('job_reduce_inputs')
    .addColumn('job', 'text', (column) => column.notNull())
    .addColumn('phase', 'integer', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('reducer', 'integer', (column) => column.notNull())
    .addColumn('input', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('job_reduce_inputs_key', ['job', 'phase', 'number'])
    .modifyEnd(sql`without rowid`)
    .execute();
  await db.schema.createIndex('job_inputs_of_reducer').on('job_reduce_inputs').columns(['job', 'phase', 'reducer', 'number']).execute();
}

async function createResultTables(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('job_outputs')
    .addColumn('job', 'text', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('output', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('job_outputs_key', ['job', 'number'])
    .modifyEnd(sql`without rowid`)
    .execute();
  await db.schema
    .createTable('job_errors')
    .addColumn('job', 'text', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('record', 'text', (column) => column.notNull())
    .addColumn('input', 'text')
    .addPrimaryKeyConstraint('job_errors_key', ['job', 'number'])
    .modifyEnd(sql`without rowid`)
    .execute();
}
