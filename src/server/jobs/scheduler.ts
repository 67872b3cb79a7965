import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveJob, ActivePhase, ActiveZone, Task } from './active-job.ts';
import { claimTasks } from './claims.ts';
import type { Isolation } from './isolation.ts';
import type { Failure } from './outcome.ts';
import { chooseClaim, claimSize } from './pace.ts';
import { describeProblem } from './problem.ts';
import { createFeeder, hasQueue, type FeederOptions } from './feeder.ts';
import { createTaskRunner, type TaskRunnerOptions } from './task-runner.ts';

/** Milliseconds before tasks that could not be read are requested again. */
const pause = 1000;

interface SchedulerOptions extends Omit<TaskRunnerOptions, 'onFree'>, Omit<FeederOptions, 'open' | 'runner'> {
  /** Undefined until the isolation of tasks has been detected. */
  readonly isolation: () => Isolation | undefined;
  readonly openZone: (job: ActiveJob, phase: ActivePhase, isolation: Isolation) => Promise<ActiveZone | undefined>;
}

/** Number of queued tasks of jobs; a claim in progress counts as if it were as large as may be. */
function countQueued(jobs: readonly ActiveJob[]): number {
  let count = 0;
  for (const { phases } of jobs) for (const { queue, isClaiming } of phases) count += queue.length + (isClaiming ? claimSize : 0);
  return count;
}

/** Creates the scheduler of `jobs`: a function that hands tasks to free slots. */
export function createScheduler(options: SchedulerOptions): () => void {
  const { store, jobs, leases, slots, accountTasks, loads, follow, record, isClosed, openZone } = options;
  const runner = createTaskRunner({ ...options, onFree: pump });
  const { isShared } = leases;
  function fail(task: Task, failure: Failure): void {
    follow(record({ kind: 'failure', task, zone: '', failure }), 'recording');
  }

  async function claim(job: ActiveJob, phase: ActivePhase, limit: number): Promise<void> {
    phase.isClaiming = true;
    phase.mayHaveMore = false;
    try {
      const { tasks, failures, isFull } = await claimTasks(store, leases, job, phase, limit);
      if (isFull) phase.mayHaveMore = true;
      phase.surplus = tasks.length > 0 || failures.length === 0 ? 1 : Math.min(claimSize, phase.surplus * 2);
      phase.queue.push(...tasks.filter(({ lost }) => lost === 0));
      // At most one of these is claimed at a time.
      phase.queue.unshift(...tasks.filter(({ lost }) => lost > 0));
      for (const { task, failure } of failures) fail(task, failure);
      job.problem = undefined;
    } catch (error) {
      job.problem = describeProblem('the tasks of the job cannot be read', error);
      phase.mayHaveMore = true;
      await sleep(pause);
      throw error;
    } finally {
      phase.isClaiming = false;
      pump();
    }
  }

  /** Ends an idle zone when there are so many that zones of other phases need the room. */
  function evictIdle(): void {
    if (loads.idle < slots * 2) return;
    for (const job of jobs.values()) {
      for (const phase of job.phases) {
        const idle = phase.queue.length === 0 ? [...phase.zones].find(({ load }) => load === 0) : undefined;
        if (idle) return follow(loads.end(phase, idle), 'ending a zone');
      }
    }
  }

  function failBroken(phase: ActivePhase): void {
    const { broken } = phase;
    if (broken) for (const task of phase.queue.splice(0)) fail(task, broken);
  }

  function open(job: ActiveJob, phase: ActivePhase, isolation: Isolation): void {
    evictIdle();
    const opened = loads.open(phase, () => openZone(job, phase, isolation)).finally(pump);
    follow(opened, 'opening a zone');
  }

  const feed = createFeeder({ jobs, slots, accountTasks, loads, runner, open });

  function pump(): void {
    const isolation = options.isolation();
    if (isClosed() || !isolation) return;
    const live = [...jobs.values()].filter(({ cancelled, isEnding }) => !cancelled && !isEnding);
    let queued = countQueued(live);
    for (const job of live) {
      for (const phase of job.phases.toReversed()) {
        const wanted =
          phase.mayHaveMore && !phase.isClaiming ? chooseClaim(phase, { slots, free: slots - loads.busy, isShared, queued }) : 0;
        if (wanted > 0) follow(claim(job, phase, wanted), 'claiming tasks');
        queued += wanted;
        failBroken(phase);
      }
    }
    feed(
      live.filter(({ phases }) => hasQueue(phases)),
      isolation,
    );
  }

  return pump;
}
