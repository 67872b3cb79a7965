import { sql, type Kysely } from 'kysely';
import { addColumns } from './create-table.ts';

/** Migration step: which engine runs a task, until when, and which attempt it is. Unused by embedded services, which run all tasks. */
export async function addTaskLeases(db: Kysely<never>): Promise<void> {
  await addColumns(db, 'job_tasks', 'owner text null, lease integer null, attempt integer zero, lost integer zero');
  const columns = ['job', 'phase', 'number'];
  const running = sql<boolean>`state = 'running'`;
  await db.schema.createIndex('job_tasks_running').on('job_tasks').columns(columns).where(running).execute();
  const suspect = sql<boolean>`state = 'waiting' and lost > 0`;
  await db.schema.createIndex('job_tasks_suspect').on('job_tasks').columns(columns).where(suspect).execute();
}
