import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveJob } from './active-job.ts';
import { archiveJob } from './archive.ts';
import type { EngineOptions } from './engine-options.ts';
import type { TaskLeases } from './task-leases.ts';
import { describeProblem } from './problem.ts';
import type { ZoneLoads } from './zone-loads.ts';

/** Milliseconds between attempts at writing the end of a job. */
const pause = 1000;
/** Maximum pause in milliseconds: each failed attempt doubles the pause. */
const longestPause = 16_000;

/**
 * Writes the end of a job, and retries while the disk or the database fails, until the engine is closed. True if it was written.
 * @param giveBack called before each attempt: a claim that was in progress when the job was stopped leaves tasks claimed
 */
async function writeEnd(
  { store, now, log }: EngineOptions,
  job: ActiveJob,
  closing: AbortSignal,
  giveBack: () => Promise<void>,
): Promise<boolean> {
  // Closing the engine does not wait for the next attempt.
  const wait = (delayMs: number): Promise<void> => sleep(delayMs, undefined, { signal: closing }).catch(() => undefined);
  for (let delayMs = pause; !closing.aborted;) {
    try {
      await giveBack();
      const { isDone, missing } = await archiveJob(store, job, now(), closing);
      for (const obstacle of missing) log(`jobs: a file of job ${job.id} is missing: ${obstacle}`);
      if (isDone) return true;
      await wait(pause);
    } catch (error) {
      if (closing.aborted) return false;
      job.problem = describeProblem('the end of the job cannot be written', error);
      log(`jobs: the end of job ${job.id} cannot be written, next attempt in ${delayMs / 1000} s: ${String(error)}`);
      await wait(delayMs);
      delayMs = Math.min(delayMs * 2, longestPause);
    }
  }
  return false;
}

/** Ends, drops and gives back jobs. */
export interface Ending {
  /** Kills the running tasks of a job, and writes its end. */
  end(job: ActiveJob): Promise<void>;
  /** Forgets a job that another engine has ended. */
  drop(job: ActiveJob): Promise<void>;
  /**
   * Lets other engines run the tasks claimed here: those of one job, or of all jobs. If the database is unavailable, the leases expire
   * instead.
   */
  giveBack(job?: string): Promise<void>;
  /** Like `giveBack`, for the queued tasks of all jobs, which have not begun. */
  giveBackQueued(): Promise<void>;
}

interface EndingOptions {
  readonly options: EngineOptions;
  readonly jobs: Map<string, ActiveJob>;
  readonly loads: ZoneLoads;
  readonly leases: TaskLeases;
  readonly closing: AbortSignal;
  /** Called when tasks of an ended job were given back. */
  readonly onGivenBack: () => void;
}

export function createEnding({ options, jobs, loads, leases, closing, onGivenBack }: EndingOptions): Ending {
  const tryGiveBack = async (tasks: Parameters<TaskLeases['giveBack']>[0]): Promise<void> => {
    if (tasks.length === 0) return;
    try {
      await leases.giveBack(tasks);
      options.store.notices?.send();
    } catch (error) {
      options.log(`jobs: tasks cannot be released: ${String(error)}`);
    }
  };
  async function stop(job: ActiveJob): Promise<void> {
    job.isEnding = true;
    job.stopping.abort();
    await loads.endAll(job);
    await Promise.all(job.running);
  }
  return {
    async end(job) {
      if (job.isEnding) return;
      await stop(job);
      const giveBack = async (): Promise<void> => {
        const held = leases.list(job.id);
        await tryGiveBack(held);
        if (held.length > 0) onGivenBack();
      };
      if (await writeEnd(options, job, closing, giveBack)) jobs.delete(job.id);
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
