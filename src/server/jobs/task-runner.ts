import type { ActiveZone, Task } from './active-job.ts';
import type { EngineOptions } from './engine-options.ts';
import type { Background } from './background.ts';
import type { TaskLeases } from './task-leases.ts';
import type { Isolation } from './isolation.ts';
import { countOutputs, type Result } from './result.ts';
import { runTask } from './run-task.ts';
import type { ZoneLoads } from './zone-loads.ts';

/** Runs tasks in zones. */
export interface TaskRunner {
  /** True if so many outcomes are not recorded yet that no further task begins. */
  readonly isFull: boolean;
  /** Runs a task in an open zone. */
  begin(active: ActiveZone, task: Task, isolation: Isolation): void;
}

/** Options of a task runner. */
export interface TaskRunnerOptions extends Pick<EngineOptions, 'store' | 'now' | 'log' | 'serviceLimits'> {
  readonly leases: TaskLeases;
  readonly loads: ZoneLoads;
  readonly follow: Background['follow'];
  readonly record: (result: Result) => Promise<void>;
  readonly isClosed: () => boolean;
  /** Called whenever a slot or a zone becomes free. */
  readonly onFree: () => void;
}

/** Maximum number of tasks whose outcome is not recorded, and of their outputs. */
const mostRunning = 1000;
const mostOutputs = 100_000;

export function createTaskRunner({
  store,
  now,
  log,
  serviceLimits,
  leases,
  loads,
  follow,
  record,
  isClosed,
  onFree,
}: TaskRunnerOptions): TaskRunner {
  let [running, outputs] = [0, 0];

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
    const result = await runTask({ store, isolation, now, serviceLimits }, active, task, release);
    if (result) {
      const count = countOutputs(result);
      outputs += count;
      await record(result).finally(() => (outputs -= count));
    }
    if (result || isClosed() || job.cancelled) return;
    // The task was handed to a zone that ended before the task began, or was withdrawn from one.
    phase.queue.unshift(task);
    onFree();
  }

  return {
    get isFull() {
      return running >= mostRunning || outputs >= mostOutputs;
    },
    begin: (active, task, isolation) => {
      loads.change(active, 1);
      running += 1;
      const { job } = task;
      const end = leases.begin(task);
      const done = work(active, task, isolation)
        .catch((error: unknown) => log(`jobs: a task of job ${job.id} failed here: ${String(error)}`))
        .finally(() => {
          end();
          job.running.delete(done);
          running -= 1;
          onFree();
        });
      job.running.add(done);
    },
  };
}
