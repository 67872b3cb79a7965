import type { Store } from '../store/store.ts';
import type { ActiveJob, ActivePhase, Task } from './active-job.ts';
import { resolveSources, wantInput } from './sources.ts';
import type { Failure } from './outcome.ts';

/** Tasks that were claimed, and those of them that failed already because their input cannot be read. */
export interface Claim {
  readonly tasks: readonly Task[];
  readonly failures: readonly { task: Task; failure: Failure }[];
  /** Whether there may be more to claim. */
  readonly isFull: boolean;
}

/**
 * Takes the next tasks of a phase. Nothing is written: one service alone does the tasks of its data, and after a restart every
 * task whose outcome is not recorded is done again.
 */
export async function claimTasks(store: Store, job: ActiveJob, phase: ActivePhase, limit: number): Promise<Claim> {
  const rows = await store.db
    .selectFrom('job_tasks')
    .select(['number', 'input', 'origin', 'tries', 'adder', 'given'])
    .where('state', '=', 'waiting')
    .where('job', '=', job.id)
    .where('phase', '=', phase.number)
    .where('number', '>', phase.claimed)
    .orderBy('number')
    .limit(limit)
    .execute();
  const sources = await resolveSources(
    store,
    job,
    rows.flatMap(({ input, ...row }) => (input === null ? [] : wantInput(phase.number, { input, ...row }))),
  );
  // Only now: tasks whose inputs could not be looked up are claimed again.
  phase.claimed = rows.at(-1)?.number ?? phase.claimed;
  const tasks: Task[] = [];
  const failures: { task: Task; failure: Failure }[] = [];
  for (const row of rows) {
    const source = row.input === null ? undefined : sources.shift();
    if (source && 'code' in source) failures.push({ task: { job, phase, ...row, source: undefined }, failure: source });
    else tasks.push({ job, phase, ...row, source });
  }
  return { tasks, failures, isFull: rows.length === limit };
}

/** Ids of the jobs that are not done, the oldest first. */
export async function listRunningJobs({ db }: Store): Promise<string[]> {
  const running = await db.selectFrom('jobs').select('id').where('state', '=', 'running').orderBy('created').execute();
  return running.map(({ id }) => id);
}
