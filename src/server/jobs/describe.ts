import type { Kysely } from 'kysely';
import type { Job } from '../../api/objects.ts';
import type { JobRow } from '../store/job-schema.ts';
import type { Schema } from '../store/schema.ts';
import { readPhases } from './phases.ts';

/** A job as GetJob returns it (section 2), with counts of its tasks. */
export async function describeJob(db: Kysely<Schema>, row: JobRow): Promise<Job> {
  const { tasks, finished } = await db
    .selectFrom('job_phases')
    .select(({ fn }) => [fn.sum<number>('tasks').as('tasks'), fn.sum<number>('finished').as('finished')])
    .where('job', '=', row.id)
    .executeTakeFirstOrThrow();
  return {
    id: row.id,
    ...(row.name !== null && { name: row.name }),
    state: row.state,
    cancelled: row.cancelled === 1,
    // A cancelled job accepts no further input.
    inputDone: row.input_done === 1 || row.cancelled === 1,
    timeCreated: new Date(row.created).toISOString(),
    ...(row.done !== null && { timeDone: new Date(row.done).toISOString() }),
    phases: readPhases(row),
    stats: { errors: row.errors, outputs: row.outputs, retries: row.retries, tasks, tasksDone: finished },
  };
}
