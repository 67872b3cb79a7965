import { sql, type Kysely } from 'kysely';

/**
 * Migration step: the caller for whom a job reads each path, and short error records. Rows of earlier releases keep their meaning: without
 * a creator, the job's account is the creator; without an adder, the creator added the input; an error without a cause contains its whole
 * record.
 */
export async function addJobCallers(db: Kysely<never>): Promise<void> {
  await db.schema.alterTable('jobs').addColumn('creator', 'text').execute();
  await db.schema
    .createTable('job_adders')
    .addColumn('job', 'text', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('user', 'text')
    .addColumn('access', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('job_adders_key', ['job', 'number'])
    .modifyEnd(sql`without rowid`)
    .execute();
  for (const table of ['job_tasks', 'job_reduce_inputs']) {
    await db.schema.alterTable(table).addColumn('adder', 'integer').execute();
    await db.schema
      .alterTable(table)
      .addColumn('given', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  }
  await db.schema
    .alterTable('job_outputs')
    .addColumn('given', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createTable('job_causes')
    .addColumn('job', 'text', (column) => column.notNull())
    .addColumn('cause', 'integer', (column) => column.notNull())
    .addColumn('template', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('job_causes_key', ['job', 'cause'])
    .modifyEnd(sql`without rowid`)
    .execute();
  await db.schema.alterTable('job_errors').addColumn('cause', 'integer').execute();
}
