import type { ActiveZone, Task } from './active-job.ts';
import type { EngineOptions } from './engine-options.ts';
import type { Background } from './background.ts';
import type { Isolation } from './isolation.ts';
import type { Result } from './result.ts';
import { runTask } from './run-task.ts';
import type { ZoneLoads } from './zone-loads.ts';

/** Runs tasks in zones. */
export interface TaskRunner {
  /** Number of tasks whose outcome is not recorded yet. */
  readonly running: number;
  /** Runs a task in an open zone. */
  begin(active: ActiveZone, task: Task, isolation: Isolation): void;
}

/** Options of a task runner. */
export interface TaskRunnerOptions extends Pick<EngineOptions, 'store' | 'now' | 'log'> {
  readonly loads: ZoneLoads;
  readonly follow: Background['follow'];
  readonly record: (result: Result) => Promise<void>;
  readonly isClosed: () => boolean;
  /** Called whenever a slot or a zone becomes free. */
  readonly onFree: () => void;
}

export function createTaskRunner({ store, now, log, loads, follow, record, isClosed, onFree }: TaskRunnerOptions): TaskRunner {
  let running = 0;

  /** Runs a task. The zone is released before the outcome is recorded. */
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
    // The task was handed to a zone that ended before the task began, or was withdrawn from one.
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
