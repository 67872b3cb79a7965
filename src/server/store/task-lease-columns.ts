import { sql, type Kysely } from 'kysely';

/** Migration step: which engine runs a task, until when, and which attempt it is. Unused by embedded services, which run all tasks. */
export async function addTaskLeases(db: Kysely<never>): Promise<void> {
  const table = (): ReturnType<typeof db.schema.alterTable> => db.schema.alterTable('job_tasks');
  await table().addColumn('owner', 'text').execute();
  await table().addColumn('lease', 'integer').execute();
  await table()
    .addColumn('attempt', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await table()
    .addColumn('lost', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  const columns = ['job', 'phase', 'number'];
  const running = sql<boolean>`state = 'running'`;
  await db.schema.createIndex('job_tasks_running').on('job_tasks').columns(columns).where(running).execute();
  const suspect = sql<boolean>`state = 'waiting' and lost > 0`;
  await db.schema.createIndex('job_tasks_suspect').on('job_tasks').columns(columns).where(suspect).execute();
}
