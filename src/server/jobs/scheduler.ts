import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveJob, ActivePhase, ActiveZone, Task } from './active-job.ts';
import { claimTasks } from './claims.ts';
import type { Isolation } from './isolation.ts';
import type { Failure } from './outcome.ts';
import { chooseDepth } from './pace.ts';
import { describeProblem } from './problem.ts';
import { createTaskRunner, type TaskRunnerOptions } from './task-runner.ts';

/** Tasks in one claim, and how few may be left before the next one. */
const claimSize = 512;
const claimMark = 256;

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
  /** Tasks at once. */
  readonly slots: number;
  /** Undefined until it is known how tasks are kept from the rest of the machine. */
  readonly isolation: () => Isolation | undefined;
  readonly openZone: (job: ActiveJob, phase: ActivePhase, isolation: Isolation) => Promise<ActiveZone | undefined>;
}

/** Makes a scheduler of the jobs in `jobs`. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { store, jobs, slots, loads, follow, record, isClosed, openZone } = options;
  const runner = createTaskRunner({ ...options, onFree: pump });
  let turn = 0;

  function fail(task: Task, failure: Failure): void {
    follow(record({ kind: 'failure', task, zone: '', failure }), 'recording');
  }

  async function claim(job: ActiveJob, phase: ActivePhase): Promise<void> {
    phase.isClaiming = true;
    phase.mayHaveMore = false;
    try {
      const { tasks, failures, isFull } = await claimTasks(store, job, phase, claimSize);
      if (isFull) phase.mayHaveMore = true;
      phase.queue.push(...tasks);
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

  /** Jobs take turns; in a job the last phases come first, so that little lies between. */
  function pump(): void {
    const isolation = options.isolation();
    if (isClosed() || !isolation) return;
    const live = [...jobs.values()].filter(({ cancelled, isEnding }) => !cancelled && !isEnding);
    const waiting = live.filter(({ phases }) => phases.some(({ queue }) => queue.length > 0));
    turn += 1;
    for (const [index] of live.entries()) {
      const job = live[(index + turn) % live.length];
      if (!job) continue;
      for (const phase of job.phases.toReversed()) {
        if (phase.mayHaveMore && !phase.isClaiming && phase.queue.length < claimMark) follow(claim(job, phase), 'claiming tasks');
        if (phase.queue.length > 0) feed(job, phase, waiting.length === 1, isolation);
      }
    }
  }

  return { pump };
}
