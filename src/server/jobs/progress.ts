import { sql, type Kysely, type Transaction } from 'kysely';
import type { JobPhaseRow } from '../store/job-schema.ts';
import type { Schema } from '../store/schema.ts';

/** Rows in one insertion. */
const batchSize = 500;

/** Something that a phase is to process: an object, and the input of phase 0 that it comes from where that is known. */
export interface PhaseInput {
  readonly input: string;
  readonly origin: string | null;
}

/** Splits a list into lists of at most `size`. */
export function splitBatches<T>(list: readonly T[], size = batchSize): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));
}

/** Gives a phase further inputs: each a task of a map, or one more object for the reducers, who take turns. */
export async function addPhaseInputs(transaction: Transaction<Schema>, phase: JobPhaseRow, inputs: readonly PhaseInput[]): Promise<void> {
  const place = { job: phase.job, phase: phase.phase };
  for (const [index, batch] of splitBatches(inputs).entries()) {
    const first = phase.inputs + index * batchSize;
    if (phase.reducers > 0) {
      const rows = batch.map(({ input }, at) => ({ ...place, number: first + at, reducer: (first + at) % phase.reducers, input }));
      await transaction.insertInto('job_reduce_inputs').values(rows).execute();
    } else {
      const rows = batch.map((each, at) => ({ ...place, ...each, number: first + at, state: 'waiting' as const, tries: 0 }));
      await transaction.insertInto('job_tasks').values(rows).execute();
    }
  }
  const added = inputs.length;
  await updatePhase(transaction, phase, { inputs: added, tasks: phase.reducers > 0 ? 0 : added });
}

/** The phases of a job in their order. */
export function listPhases(transaction: Transaction<Schema>, job: string): Promise<JobPhaseRow[]> {
  return transaction.selectFrom('job_phases').selectAll().where('job', '=', job).orderBy('phase').execute();
}

/** Adds to the numbers of a phase. */
export async function updatePhase(
  transaction: Transaction<Schema>,
  { job, phase }: Pick<JobPhaseRow, 'job' | 'phase'>,
  { inputs = 0, tasks = 0, finished = 0 }: { inputs?: number; tasks?: number; finished?: number },
): Promise<void> {
  await transaction
    .updateTable('job_phases')
    .set({ inputs: sql`inputs + ${inputs}`, tasks: sql`tasks + ${tasks}`, finished: sql`finished + ${finished}` })
    .where('job', '=', job)
    .where('phase', '=', phase)
    .execute();
}

async function closePhase(transaction: Transaction<Schema>, phase: JobPhaseRow): Promise<JobPhaseRow> {
  const { job, reducers } = phase;
  const tasks = Array.from({ length: reducers }, (_, number) => ({
    job,
    phase: phase.phase,
    number,
    state: 'waiting' as const,
    input: null,
    origin: null,
    tries: 0,
  }));
  if (tasks.length > 0) await transaction.insertInto('job_tasks').values(tasks).execute();
  const closed = { closed: 1, tasks: phase.tasks + reducers };
  await transaction.updateTable('job_phases').set(closed).where('job', '=', job).where('phase', '=', phase.phase).execute();
  return { ...phase, ...closed };
}

/**
 * Closes the phases that can get no further input: the first when the job's input is done, each other when the one before
 * it is over. Reducers begin then. @returns whether the whole job is over.
 */
export async function advancePhases(transaction: Transaction<Schema>, job: string, inputDone: boolean): Promise<boolean> {
  let isOver = inputDone;
  for (const row of await listPhases(transaction, job)) {
    if (!isOver) return false;
    const phase = row.closed === 1 ? row : await closePhase(transaction, row);
    isOver = phase.finished === phase.tasks;
  }
  return isOver;
}

/** Whether nothing is left to do for a job but to write its end. */
export async function isJobOver(db: Kysely<Schema>, job: string): Promise<boolean> {
  const open = await db
    .selectFrom('job_phases')
    .select('phase')
    .where('job', '=', job)
    .where((where) => where.or([where('closed', '=', 0), where('finished', '<', where.ref('tasks'))]))
    .executeTakeFirst();
  return open === undefined;
}
