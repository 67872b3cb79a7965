import { sql, type Kysely, type Transaction } from 'kysely';
import type { JobPhaseRow, JobTaskRow } from '../store/job-schema.ts';
import { listRows } from '../store/list-rows.ts';
import type { Schema } from '../store/schema.ts';

/** An input of a phase: an object, and the input of phase 0 from which it originates, if that is known. */
export interface PhaseInput extends Readonly<Pick<JobTaskRow, 'origin' | 'adder' | 'given'>> {
  readonly input: string;
  /** Reducer that receives the object; if undefined, reducers take turns. */
  readonly reducer?: number | undefined;
}

/** Adds inputs to a phase. In a map phase each is a task; in a reduce phase each goes to a reducer. */
export async function addPhaseInputs(transaction: Transaction<Schema>, phase: JobPhaseRow, inputs: readonly PhaseInput[]): Promise<void> {
  const { job, phase: number, inputs: first, reducers } = phase;
  const lists = inputs.map(({ input, origin, adder, given, reducer }) => [input, adder, given, origin, reducer ?? null]);
  const rows = listRows(transaction, lists);
  const insert =
    reducers > 0
      ? sql`
      insert into job_reduce_inputs (job, phase, number, reducer, input, origin, adder, given)
      select ${job}, cast(${number} as bigint), ${first} + key, coalesce(cast(value ->> 4 as bigint), (${first} + key) % ${reducers}),
        value ->> 0, value ->> 3, cast(value ->> 1 as bigint), cast(value ->> 2 as bigint)`
      : sql`
      insert into job_tasks (job, phase, number, state, input, origin, tries, adder, given)
      select ${job}, cast(${number} as bigint), ${first} + key, 'waiting', value ->> 0, value ->> 3, 0,
        cast(value ->> 1 as bigint), cast(value ->> 2 as bigint)`;
  await sql`${insert} from ${rows}`.execute(transaction);
  const added = inputs.length;
  await updatePhase(transaction, phase, { inputs: added, tasks: phase.reducers > 0 ? 0 : added });
}

/** The phases of a job, in order. */
export function listPhases(transaction: Transaction<Schema>, job: string): Promise<JobPhaseRow[]> {
  return transaction.selectFrom('job_phases').selectAll().where('job', '=', job).orderBy('phase').execute();
}

/** Increments the counters of a phase. */
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
    adder: null,
    given: 0,
  }));
  if (tasks.length > 0) await transaction.insertInto('job_tasks').values(tasks).execute();
  const closed = { closed: 1, tasks: phase.tasks + reducers };
  await transaction.updateTable('job_phases').set(closed).where('job', '=', job).where('phase', '=', phase.phase).execute();
  return { ...phase, ...closed };
}

/**
 * Closes the phases that can get no further input: the first when the job's input has ended, each later one when the previous phase is
 * over. The reducers of a closed phase begin. @returns true if the whole job is over
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

/** True if nothing is left to do for a job except writing its end. */
export async function isJobOver(db: Kysely<Schema>, job: string): Promise<boolean> {
  const open = await db
    .selectFrom('job_phases')
    .select('phase')
    .where('job', '=', job)
    .where((where) => where.or([where('closed', '=', 0), where('finished', '<', where.ref('tasks'))]))
    .executeTakeFirst();
  return open === undefined;
}
