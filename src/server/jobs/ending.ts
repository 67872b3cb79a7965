import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveJob } from './active-job.ts';
import { archiveJob } from './archive.ts';
import type { EngineOptions } from './engine-options.ts';
import type { TaskLeases } from './leases.ts';
import { describeProblem } from './problem.ts';
import type { ZoneLoads } from './zone-loads.ts';

/** Milliseconds between attempts at what the disk or the database refused. */
const pause = 1000;
/** The longest of them: each failed attempt to write the end of a job doubles the pause. */
const longestPause = 16_000;

/** Writes the end of a job, again and again while the disk or the database refuses it, until the engine is closed; whether it is written. */
async function writeEnd({ store, now, log }: EngineOptions, job: ActiveJob, closing: AbortSignal): Promise<boolean> {
  // Closing does not wait for the next attempt.
  const wait = (delayMs: number): Promise<void> => sleep(delayMs, undefined, { signal: closing }).catch(() => undefined);
  for (let delayMs = pause; !closing.aborted;) {
    try {
      const { isDone, missing } = await archiveJob(store, job, now());
      for (const obstacle of missing) log(`jobs: a file of job ${job.id} is missing: ${obstacle}`);
      if (isDone) return true;
      await wait(pause);
    } catch (error) {
      job.problem = describeProblem('its end cannot be written', error);
      log(`jobs: the end of job ${job.id} cannot be written, next attempt in ${delayMs / 1000} s: ${String(error)}`);
      await wait(delayMs);
      delayMs = Math.min(delayMs * 2, longestPause);
    }
  }
  return false;
}

/** Takes leave of jobs. */
export interface Ending {
  /** Ends what runs of a job, and writes its end. */
  end(job: ActiveJob): Promise<void>;
  /** Forgets a job that another engine has ended. */
  drop(job: ActiveJob): Promise<void>;
  /** Lets others do tasks that were claimed here: all of a job, or of all jobs. Where the database is away, their leases end by themselves. */
  giveBack(job?: string): Promise<void>;
  /** The same for those that were not begun. */
  giveBackQueued(): Promise<void>;
}

interface EndingOptions {
  readonly options: EngineOptions;
  readonly jobs: Map<string, ActiveJob>;
  readonly loads: ZoneLoads;
  readonly leases: TaskLeases;
  readonly closing: AbortSignal;
}

/** Makes what takes leave of the jobs in `jobs`. */
export function createEnding({ options, jobs, loads, leases, closing }: EndingOptions): Ending {
  const tryGiveBack = async (tasks: Parameters<TaskLeases['giveBack']>[0]): Promise<void> => {
    if (tasks.length === 0) return;
    try {
      await leases.giveBack(tasks);
      options.store.notices?.send();
    } catch (error) {
      options.log(`jobs: tasks cannot be given back: ${String(error)}`);
    }
  };
  async function stop(job: ActiveJob): Promise<void> {
    job.isEnding = true;
    await loads.endAll(job);
    await Promise.all(job.running);
  }
  return {
    async end(job) {
      if (job.isEnding) return;
      await stop(job);
      await tryGiveBack(leases.list(job.id));
      if (await writeEnd(options, job, closing)) jobs.delete(job.id);
    },
    async drop(job) {
      await stop(job);
      leases.forget(leases.list(job.id));
      jobs.delete(job.id);
    },
    giveBack: (job) => tryGiveBack(leases.list(job)),
    giveBackQueued: () => tryGiveBack([...jobs.values()].flatMap(({ phases }) => phases.flatMap(({ queue }) => queue.splice(0)))),
  };
}
