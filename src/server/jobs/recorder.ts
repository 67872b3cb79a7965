import { setTimeout as sleep } from 'node:timers/promises';
import { countOf } from '../../base/count.ts';
import { isDiskFull } from '../store/disk-full.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import type { ActiveJob, Task } from './active-job.ts';
import type { EngineOptions } from './engine-options.ts';
import { describeProblem } from './problem.ts';
import { recordResults } from './record.ts';
import { countOutputs, type Result } from './result.ts';

interface RecorderOptions extends Pick<EngineOptions, 'store' | 'server' | 'now' | 'log' | 'serviceLimits'> {
  /** True while the service shuts down: tasks whose outcome cannot be recorded then run again after the next start. */
  isClosed(): boolean;
  /** True if further outcomes will arrive within moments. */
  expectsMore(): boolean;
  /** Called with tasks whose outcome cannot be recorded by this engine. */
  onGivenUp(tasks: readonly Task[]): void;
  /** Called after each transaction with its results, the jobs that are over, and the number of refused outcomes. */
  onRecorded(results: readonly Result[], over: readonly ActiveJob[], refused: number): void;
}

/** Maximum number of outcomes per transaction, and of outputs after which no further outcome is added. */
const batchSize = 500;
const batchOutputs = 5000;

/** Number of outcomes that are written without waiting for more, and the milliseconds that fewer outcomes wait. */
const worthwhile = 250;
const longestWait = 200;

/**
 * Maximum number of attempts at a transaction, and milliseconds between them. A full disk or an unavailable database is retried without
 * limit, because it passes.
 */
const maxAttempts = 10;
const pauseMs = 500;

/**
 * Creates the function that writes outcomes of tasks to the database. Outcomes that arrive while the database is busy are written together.
 * The function resolves when the outcome is on disk, or when recording it was given up.
 */
export function createRecorder(options: RecorderOptions): (result: Result) => Promise<void> {
  const { store, server, serviceLimits, now, log, isClosed, expectsMore, onGivenUp, onRecorded } = options;
  const queue: { result: Result; done: () => void; fail: (error: unknown) => void }[] = [];
  let isWriting = false;

  /** Writes outcomes in one transaction; undefined, after a line in the log, if they cannot be recorded. */
  async function write(results: readonly Result[]): Promise<{ over: ActiveJob[]; refused: number } | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { over, refused } = await recordResults(store, results, { now: now(), server, settings: { serviceLimits } });
        if (refused > 0)
          log(`jobs: outcomes of ${countOf(refused, 'task')} were rejected: other workers have taken the tasks in the meantime`);
        for (const { task } of results) task.job.problem = undefined;
        return { over, refused };
      } catch (error) {
        const isPassing = isDiskFull(error) || error instanceof StoreUnavailable;
        const isLast = isClosed() || (attempt >= maxAttempts && !isPassing);
        const next = isLast ? 'these tasks run again after a restart of the service' : undefined;
        for (const { task } of results) task.job.problem = describeProblem('the results of the tasks cannot be recorded', error, next);
        // A log on the same disk must not grow while that disk is full.
        if (attempt <= maxAttempts) log(`jobs: outcomes of ${countOf(results.length, 'task')} cannot be recorded: ${String(error)}`);
        if (isLast) return undefined;
        await sleep(pauseMs);
      }
    }
  }

  /** Waits for further outcomes while more are expected: nothing else is done while the database flushes. */
  async function gather(): Promise<void> {
    const end = performance.now() + longestWait;
    while (queue.length < worthwhile && performance.now() < end && expectsMore()) await sleep(5);
  }

  function takeBatch(): typeof queue {
    let [count, outputs] = [0, 0];
    for (const { result } of queue.slice(0, batchSize)) {
      if (outputs >= batchOutputs) break;
      count += 1;
      outputs += countOutputs(result);
    }
    return queue.splice(0, count);
  }

  async function writeAll(): Promise<void> {
    isWriting = true;
    for (await gather(); queue.length > 0; await gather()) {
      const batch = takeBatch();
      const results = batch.map(({ result }) => result);
      const recorded = await write(results);
      try {
        if (recorded) onRecorded(results, recorded.over, recorded.refused);
        // If there are other engines, one of them runs the tasks again; otherwise they wait until the next start.
        else onGivenUp(results.map(({ task }) => task));
        for (const { done } of batch) done();
      } catch (error) {
        // A defect of the engine: the outcomes are on disk and must not be given up.
        for (const { fail } of batch) fail(error);
      }
    }
    isWriting = false;
  }

  return (result) =>
    new Promise((resolve, reject) => {
      queue.push({ result, done: resolve, fail: reject });
      if (!isWriting) void writeAll();
    });
}
