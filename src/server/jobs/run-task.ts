import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '../store/unavailable.ts';
import type { ActiveZone, Task } from './active-job.ts';
import { collectOutputs } from './collect-outputs.ts';
import { streamDirectory } from './isolation.ts';
import { createOutputBudget } from './output-budget.ts';
import { removeTree } from './remove-tree.ts';
import { collectFailure, smallFile } from './results.ts';
import { prepareTask, type TaskEnvironment } from './prepare.ts';
import { LimitReached, TaskTakenBack, TaskTooLong, ZoneLost } from './zone-queue.ts';
import { passingPause } from './engine-options.ts';
import type { Result } from './result.ts';
import type { Ending } from './outcome.ts';

/** Maximum number of tries of a task that fails because of the service. */
const mostTries = 3;

function fail(task: Task, zone: string, code: string, message: string): Result {
  return { kind: 'failure', task, zone, failure: { code, message } };
}

function failCancelled(task: Task, zone: string): Result {
  return fail(task, zone, 'JobCancelledError', 'job was cancelled');
}

/** The outcome of a task that failed because of the service. */
function retry(task: Task, zone: string, why: string): Result {
  if (task.tries + 1 < mostTries) return { kind: 'retry', task, zone, counts: true };
  return fail(task, zone, 'InternalError', `the service failed the task ${mostTries} times: ${why}`);
}

/** The outcome of a task while the database or the content store is unavailable: after a short pause it is retried until they are back. */
async function postpone(task: Task, zone: string): Promise<Result> {
  await sleep(passingPause);
  return { kind: 'retry', task, zone, counts: false };
}

/** The outcome of a task whose zone ended; undefined if the task had not begun. */
function explainLoss(error: unknown, task: Task, zone: string): Result | undefined {
  if (error instanceof TaskTooLong) return fail(task, zone, 'TaskKilledError', `user command took ${error.message} and was killed`);
  if (error instanceof LimitReached) return fail(task, zone, 'UserTaskError', error.message);
  if (!(error instanceof ZoneLost)) return retry(task, zone, String(error));
  if (!error.begun) return undefined;
  if (task.job.cancelled) return failCancelled(task, zone);
  return retry(task, zone, error.message);
}

/** Stores the outputs of a task and frees its slot. */
async function collect(
  environment: TaskEnvironment,
  { zone, slots }: ActiveZone,
  task: Task,
  { ending, input }: { ending: Ending; input: string | undefined },
): Promise<Result> {
  try {
    const { store, now, directory, slot } = environment;
    const { emitted } = ending;
    const isDone = ending.status === 0 && !ending.dumped && ending.limit === undefined;
    const reserve = createOutputBudget(store, task, { serviceLimits: environment.serviceLimits });
    const outcome = await (isDone
      ? collectOutputs(store, task, environment, { emitted, now, reserve })
      : collectFailure(store, task, environment, { ending, reserve }));
    if (emitted !== 'none') await removeTree(join(streamDirectory(directory), 'emitted', slot));
    // Without a sandbox, a process that the task left running might still write to its output file.
    const mayStay = environment.isolation.kind !== 'none' && 'outputs' in outcome && outcome.objects.every(({ size }) => size <= smallFile);
    slots.giveBack(slot, { input, mayStay });
    if ('outputs' in outcome) return { kind: 'output', task, zone: zone.name, output: outcome };
    return { kind: 'failure', task, zone: zone.name, failure: outcome };
  } catch (error) {
    if (error instanceof StoreUnavailable) return postpone(task, zone.name);
    if (task.job.cancelled) return failCancelled(task, zone.name);
    // The service is shutting down, and the outcome is not recorded: the task runs again.
    if (task.job.stopping.signal.aborted) return { kind: 'retry', task, zone: zone.name, counts: false };
    return retry(task, zone.name, String(error));
  }
}

/**
 * Runs a task in a zone, from placing its input to storing its outputs. `release` is called as soon as the zone is free again; its argument
 * is true if the zone is gone.
 * @returns the result to record; undefined if the zone ended, or the task was withdrawn, before the task began
 */
export async function runTask(
  given: Omit<TaskEnvironment, 'directory' | 'slot'>,
  active: ActiveZone,
  task: Task,
  release: (isGone: boolean) => void,
): Promise<Result | undefined> {
  const { zone, slots } = active;
  let slot = '';
  try {
    slot = slots.take();
    const environment = { ...given, directory: zone.directory, slot };
    const prepared = await prepareTask(environment, task);
    if ('code' in prepared) {
      release(false);
      slots.giveBack(environment.slot, { mayStay: false });
      return { kind: 'failure', task, zone: zone.name, failure: prepared };
    }
    const ending = await zone.run(prepared.zoneTask);
    task.phase.pace = ending.duration;
    release(false);
    return { ...(await collect(environment, active, task, { ending, input: prepared.input })), complaints: prepared.complaints };
  } catch (error) {
    if (error instanceof TaskTakenBack) {
      release(false);
      void error.passed.then(() => slots.giveBack(slot, { mayStay: true }));
      return undefined;
    }
    if (error instanceof StoreUnavailable) {
      // The zone is fine and can be used again. It takes no other task during the pause, because that task would fail in the same way.
      const postponed = await postpone(task, zone.name);
      release(false);
      slots.giveBack(slot, { mayStay: false });
      return postponed;
    }
    release(true);
    return explainLoss(error, task, zone.name);
  }
}
