import { sql } from 'kysely';
import type { Store } from '../store/store.ts';
import type { ActiveJob, ActivePhase, Failure, Task } from './active-job.ts';
import { resolveSources } from './sources.ts';

/** Tasks that were claimed, and those of them that failed already because their input cannot be read. */
export interface Claim {
  readonly tasks: readonly Task[];
  readonly failures: readonly { task: Task; failure: Failure }[];
  /** Whether there may be more to claim. */
  readonly isFull: boolean;
}

/** Claims the next tasks of a phase: from here on this service does them. */
export async function claimTasks(store: Store, job: ActiveJob, phase: ActivePhase, limit: number): Promise<Claim> {
  const rows = await store.write(async (transaction) => {
    const waiting = await transaction
      .selectFrom('job_tasks')
      .select(['number', 'input', 'origin', 'tries'])
      .where('state', '=', 'waiting')
      .where('job', '=', job.id)
      .where('phase', '=', phase.number)
      .orderBy('number')
      .limit(limit)
      .execute();
    if (waiting.length === 0) return waiting;
    await transaction
      .updateTable('job_tasks')
      .set({ state: 'running' })
      .where('job', '=', job.id)
      .where('phase', '=', phase.number)
      .where(
        'number',
        'in',
        waiting.map(({ number }) => number),
      )
      .execute();
    return waiting;
  });
  const sources = await resolveSources(
    store,
    job,
    rows.flatMap(({ input }) => input ?? []),
    phase.number,
  );
  const tasks: Task[] = [];
  const failures: { task: Task; failure: Failure }[] = [];
  for (const row of rows) {
    const source = row.input === null ? undefined : sources.shift();
    if (source && 'code' in source) failures.push({ task: { job, phase, ...row, source: undefined }, failure: source });
    else tasks.push({ job, phase, ...row, source });
  }
  return { tasks, failures, isFull: rows.length === limit };
}

/** After a start: tasks that were under way when the service ended wait again. @returns the jobs that run. */
export async function reopenTasks(store: Store): Promise<string[]> {
  return store.write(async (transaction) => {
    const lost = await transaction
      .selectFrom('job_tasks')
      .select(({ fn }) => ['job', fn.countAll<number>().as('count')])
      .where('state', '=', 'running')
      .groupBy('job')
      .execute();
    await transaction.updateTable('job_tasks').set({ state: 'waiting' }).where('state', '=', 'running').execute();
    for (const { job, count } of lost) {
      await transaction
        .updateTable('jobs')
        .set({ retries: sql`retries + ${count}` })
        .where('id', '=', job)
        .where('state', '=', 'running')
        .execute();
    }
    const running = await transaction.selectFrom('jobs').select('id').where('state', '=', 'running').orderBy('created').execute();
    return running.map(({ id }) => id);
  });
}
