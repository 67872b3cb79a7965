import type { ActiveZone, Task } from './active-job.ts';
import type { EngineOptions } from './engine-options.ts';
import type { Background } from './background.ts';
import type { Isolation } from './isolation.ts';
import type { Result } from './result.ts';
import { runTask } from './run-task.ts';
import type { ZoneLoads } from './zone-loads.ts';

/** Does tasks in zones. */
export interface TaskRunner {
  /** Tasks whose outcome is not recorded. */
  readonly running: number;
  /** Does a task in a zone that is open. */
  begin(active: ActiveZone, task: Task, isolation: Isolation): void;
}

/** What a runner works with. */
export interface TaskRunnerOptions extends Pick<EngineOptions, 'store' | 'now' | 'log'> {
  readonly loads: ZoneLoads;
  readonly follow: Background['follow'];
  readonly record: (result: Result) => Promise<void>;
  readonly isClosed: () => boolean;
  /** Told whenever something is free again. */
  readonly onFree: () => void;
}

/** Makes a runner that does nothing yet. */
export function createTaskRunner({ store, now, log, loads, follow, record, isClosed, onFree }: TaskRunnerOptions): TaskRunner {
  let running = 0;

  /** The zone is free for the next task before the outcome is recorded. */
  async function work(active: ActiveZone, task: Task, isolation: Isolation): Promise<void> {
    const { phase, job } = task;
    let released = false;
    const release = (isGone: boolean): void => {
      if (released) return;
      released = true;
      loads.change(active, -1);
      if (isGone) follow(loads.end(phase, active), 'ending a zone');
      onFree();
    };
    const result = await runTask({ store, isolation, now }, active, task, release);
    if (result) await record(result);
    if (result || isClosed() || job.cancelled) return;
    // It was handed to a zone that ended before its turn, or taken back from one.
    phase.queue.unshift(task);
    onFree();
  }

  return {
    get running() {
      return running;
    },
    begin: (active, task, isolation) => {
      loads.change(active, 1);
      running += 1;
      const { job } = task;
      const done = work(active, task, isolation)
        .catch((error: unknown) => log(`jobs: a task of job ${job.id} failed here: ${String(error)}`))
        .finally(() => {
          job.running.delete(done);
          running -= 1;
          onFree();
        });
      job.running.add(done);
    },
  };
}
