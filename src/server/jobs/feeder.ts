import type { ActiveJob, ActivePhase } from './active-job.ts';
import type { Isolation } from './isolation.ts';
import { chooseDepth } from './pace.ts';
import { countByAccount, orderByShare } from './shares.ts';
import type { TaskRunner } from './task-runner.ts';
import type { ZoneLoads } from './zone-loads.ts';

/** True if claimed tasks wait for a slot. */
export function hasQueue(phases: readonly ActivePhase[]): boolean {
  return phases.some(({ queue }) => queue.length > 0);
}

export interface FeederOptions {
  readonly jobs: ReadonlyMap<string, ActiveJob>;
  /** Maximum numbers of concurrent tasks: of all jobs (`slots`), and of one account. */
  readonly slots: number;
  readonly accountTasks: number;
  readonly loads: ZoneLoads;
  readonly runner: TaskRunner;
  /** Opens another zone. */
  readonly open: (job: ActiveJob, phase: ActivePhase, isolation: Isolation) => void;
}

/** Creates the function that hands claimed tasks of `jobs` to zones: it fills free slots with tasks of the waiting jobs. */
export function createFeeder(options: FeederOptions): (waiting: readonly ActiveJob[], isolation: Isolation) => void {
  const { jobs, slots, accountTasks, loads, runner, open } = options;
  let turn = 0;
  const isFull = (): boolean => loads.busy >= slots || runner.isFull;

  /** Hands tasks of the only waiting job to zones, several per zone if they are short. */
  function feedAlone(job: ActiveJob, isolation: Isolation): void {
    const isAtLimit = (): boolean => accountTasks !== Infinity && (countByAccount(jobs.values()).get(job.account.id) ?? 0) >= accountTasks;
    const mayUseAnother = (): boolean => !isFull() && !isAtLimit();
    for (const phase of job.phases.toReversed()) {
      const depth = chooseDepth(phase, slots);
      for (const active of phase.zones) {
        // Tasks handed over together are one write: a zone gets more when half of its tasks have ended.
        if (active.load > depth / 2) continue;
        while (active.load < (active.isLate ? 1 : depth) && (active.load > 0 || mayUseAnother())) {
          const task = runner.isFull ? undefined : phase.queue.shift();
          if (!task) break;
          runner.begin(active, task, isolation);
        }
      }
      while (phase.queue.length > phase.opening && mayUseAnother()) open(job, phase, isolation);
    }
  }

  /** Hands one task of a job to a zone, or opens a zone for it. The last phases come first, so that few intermediate outputs pile up. */
  function feedOne(job: ActiveJob, isolation: Isolation): boolean {
    for (const phase of job.phases.toReversed()) {
      const active = [...phase.zones].find(({ load }) => load === 0);
      const task = active && phase.queue.shift();
      if (task) runner.begin(active, task, isolation);
      else if (!active && phase.queue.length > phase.opening) open(job, phase, isolation);
      else continue;
      return true;
    }
    return false;
  }

  /** Gives free slots one by one to the job that has the smallest share. */
  function share(waiting: readonly ActiveJob[], isolation: Isolation): void {
    while (!isFull()) {
      const busy = countByAccount(jobs.values());
      const ready = waiting.filter(({ account, phases }) => (busy.get(account.id) ?? 0) < accountTasks && hasQueue(phases));
      const served = orderByShare(ready, jobs.values()).find((job) => feedOne(job, isolation));
      if (!served) return;
      turn += 1;
      served.served = turn;
    }
  }

  return (waiting, isolation) => {
    const [only] = waiting;
    if (only && waiting.length === 1) feedAlone(only, isolation);
    else share(waiting, isolation);
  };
}
