import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveJob, ActivePhase, ActiveZone, Task } from './active-job.ts';
import { claimTasks } from './claims.ts';
import type { Isolation } from './isolation.ts';
import type { Failure } from './outcome.ts';
import type { TaskLeases } from './leases.ts';
import { chooseClaim, chooseDepth, claimSize } from './pace.ts';
import { describeProblem } from './problem.ts';
import { groupBy } from './record-objects.ts';
import { createTaskRunner, type TaskRunnerOptions } from './task-runner.ts';

/** Tasks that may be between their beginning and the record of their outcome before no further one is begun. */
const mostRunning = 1000;

/** Milliseconds until tasks that could not be read are asked for again. */
const pause = 1000;

/** Gives work to zones. */
export interface Scheduler {
  /** Gives work to whatever is free. */
  pump(): void;
}

interface SchedulerOptions extends Omit<TaskRunnerOptions, 'onFree'> {
  readonly jobs: ReadonlyMap<string, ActiveJob>;
  readonly leases: TaskLeases;
  /** Tasks at once. */
  readonly slots: number;
  /** Undefined until it is known how tasks are kept from the rest of the machine. */
  readonly isolation: () => Isolation | undefined;
  readonly openZone: (job: ActiveJob, phase: ActivePhase, isolation: Isolation) => Promise<ActiveZone | undefined>;
}

function rotate<T>(list: readonly T[], by: number): T[] {
  const first = list.length === 0 ? 0 : by % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}

/** The jobs in the order of this turn: each account comes first equally often, however many jobs it has. */
export function orderByTurn<J extends Pick<ActiveJob, 'account'>>(jobs: readonly J[], turn: number): J[] {
  const accounts = [...groupBy(jobs, ({ account }) => account.id).values()];
  return rotate(accounts, turn).flatMap((own) => rotate(own, Math.floor(turn / accounts.length)));
}

/** Makes a scheduler of the jobs in `jobs`. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { store, jobs, leases, slots, loads, follow, record, isClosed, openZone } = options;
  const runner = createTaskRunner({ ...options, onFree: pump });
  const { isShared } = leases;
  let turn = 0;

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
      // Only one of these is claimed at a time.
      phase.queue.unshift(...tasks.filter(({ lost }) => lost > 0));
      for (const { task, failure } of failures) fail(task, failure);
      job.problem = undefined;
    } catch (error) {
      job.problem = describeProblem('its tasks cannot be read', error);
      phase.mayHaveMore = true;
      await sleep(pause);
      throw error;
    } finally {
      phase.isClaiming = false;
      pump();
    }
  }

  /** Makes room for another zone when many wait for work of other phases. */
  function evictIdle(): void {
    if (loads.idle < slots * 2) return;
    for (const job of jobs.values()) {
      for (const phase of job.phases) {
        const idle = phase.queue.length === 0 ? [...phase.zones].find(({ load }) => load === 0) : undefined;
        if (idle) return follow(loads.end(phase, idle), 'ending a zone');
      }
    }
  }

  function feed(job: ActiveJob, phase: ActivePhase, isAlone: boolean, isolation: Isolation): void {
    const { broken } = phase;
    if (broken) for (const task of phase.queue.splice(0)) fail(task, broken);
    const depth = isAlone ? chooseDepth(phase, slots) : 1;
    for (const active of phase.zones) {
      // Tasks that are handed over together are one write: a zone gets more when half of them are over.
      if (active.load > depth / 2) continue;
      while (active.load < (active.isLate ? 1 : depth) && (active.load > 0 || loads.busy < slots)) {
        const task = runner.running < mostRunning ? phase.queue.shift() : undefined;
        if (!task) return;
        runner.begin(active, task, isolation);
      }
    }
    while (phase.queue.length > phase.opening && loads.busy < slots && runner.running < mostRunning) {
      evictIdle();
      const opened = loads.open(phase, () => openZone(job, phase, isolation)).finally(pump);
      follow(opened, 'opening a zone');
    }
  }

  /** Accounts take turns, and the jobs of each; in a job the last phases come first, so that little lies between. */
  function pump(): void {
    const isolation = options.isolation();
    if (isClosed() || !isolation) return;
    const live = [...jobs.values()].filter(({ cancelled, isEnding }) => !cancelled && !isEnding);
    const waiting = live.filter(({ phases }) => phases.some(({ queue }) => queue.length > 0));
    turn += 1;
    for (const job of orderByTurn(live, turn)) {
      for (const phase of job.phases.toReversed()) {
        const wanted = phase.mayHaveMore && !phase.isClaiming ? chooseClaim(phase, { slots, free: slots - loads.busy, isShared }) : 0;
        if (wanted > 0) follow(claim(job, phase, wanted), 'claiming tasks');
        if (phase.queue.length > 0) feed(job, phase, waiting.length === 1, isolation);
      }
    }
  }

  return { pump };
}
