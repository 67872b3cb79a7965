import type { Store } from '../store/store.ts';
import type { ActiveJob, ActivePhase, Task } from './active-job.ts';
import { mostLosses } from './leases.ts';
import type { TaskLeases } from './task-leases.ts';
import { resolveSources, wantInput } from './sources.ts';
import type { Failure } from './outcome.ts';

/** Claimed tasks: those to run, and those that have failed already because their input cannot be read. */
export interface Claim {
  readonly tasks: readonly Task[];
  readonly failures: readonly { task: Task; failure: Failure }[];
  /** True if there may be more tasks to claim. */
  readonly isFull: boolean;
}

/** The failure of a task that is not retried because its workers died too often; undefined if it may run again. */
function findLossFailure({ lost }: Pick<Task, 'lost'>): Failure | undefined {
  if (lost < mostLosses) return undefined;
  return { code: 'InternalError', message: `the workers that ran the task died ${lost} times while running it` };
}

/** Claims the next tasks of a phase. */
export async function claimTasks(store: Store, leases: TaskLeases, job: ActiveJob, phase: ActivePhase, limit: number): Promise<Claim> {
  const rows = await leases.claim(job, phase, limit);
  const claimed = rows.map((row): Task => ({ job, phase, ...row, source: undefined }));
  leases.keep(claimed);
  try {
    const sources = await resolveSources(
      store,
      job,
      rows.flatMap(({ input, ...row }) => (input === null ? [] : wantInput(phase.number, { input, ...row }))),
    );
    // Set only now, so that tasks whose inputs could not be looked up are claimed again.
    phase.claimed = Math.max(phase.claimed, rows.at(-1)?.number ?? -1);
    const tasks: Task[] = [];
    const failures: { task: Task; failure: Failure }[] = [];
    for (const task of claimed) {
      const source = task.input === null ? undefined : sources.shift();
      const failure = findLossFailure(task) ?? (source && 'code' in source ? source : undefined);
      if (failure) failures.push({ task, failure });
      else {
        task.source = source && 'place' in source ? source : undefined;
        tasks.push(task);
      }
    }
    return { tasks, failures, isFull: rows.length >= limit };
  } catch (error) {
    // Spares other engines the wait for these leases to expire. If the database is unavailable, the leases do expire.
    await leases.giveBack(claimed).catch(() => undefined);
    throw error;
  }
}

/** Ids of the running jobs, oldest first. */
export async function listRunningJobs({ db }: Store): Promise<string[]> {
  const running = await db.selectFrom('jobs').select('id').where('state', '=', 'running').orderBy('created').execute();
  return running.map(({ id }) => id);
}
