import { setTimeout as sleep } from 'node:timers/promises';
import { isDiskFull } from '../store/disk-full.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import type { ActiveJob, Task } from './active-job.ts';
import type { EngineOptions } from './engine-options.ts';
import { describeProblem } from './problem.ts';
import { recordResults } from './record.ts';
import type { Result } from './result.ts';

interface RecorderOptions extends Pick<EngineOptions, 'store' | 'server' | 'now' | 'log' | 'serviceLimits'> {
  /** Whether the service ends: what cannot be recorded then is done again after the next start. */
  isClosed(): boolean;
  /** Whether further outcomes will come within moments. */
  expectsMore(): boolean;
  /** Told of tasks whose outcome cannot be recorded here. */
  onGivenUp(tasks: readonly Task[]): void;
  /** Told after each transaction: what it was to record, the jobs that are over, and how many outcomes were refused. */
  onRecorded(results: readonly Result[], over: readonly ActiveJob[], refused: number): void;
}

/** Outcomes in one transaction. */
const batchSize = 500;

/** Outcomes that are worth a transaction at once, and milliseconds that fewer wait for others. */
const worthwhile = 250;
const longestWait = 200;

/** Times that a transaction is tried, unless the disk is full or the database is away: that passes, however late. Milliseconds between. */
const attempts = 10;
const pause = 500;

/**
 * Makes what writes outcomes of tasks to the database, those that come while it is busy together. The function resolves when an outcome is on
 * disk, or was given up.
 */
export function createRecorder(options: RecorderOptions): (result: Result) => Promise<void> {
  const { store, server, serviceLimits, now, log, isClosed, expectsMore, onGivenUp, onRecorded } = options;
  const queue: { result: Result; done: () => void }[] = [];
  let isWriting = false;

  async function write(results: readonly Result[]): Promise<{ over: ActiveJob[]; refused: number }> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { over, refused } = await recordResults(store, results, { now: now(), server, settings: { serviceLimits } });
        if (refused > 0) log(`jobs: outcomes of ${refused} tasks are refused: others have taken them meanwhile`);
        for (const { task } of results) task.job.problem = undefined;
        return { over, refused };
      } catch (error) {
        const isPassing = isDiskFull(error) || error instanceof StoreUnavailable;
        const isLast = isClosed() || (attempt >= attempts && !isPassing);
        const next = isLast ? 'these tasks run again when the service is restarted' : undefined;
        for (const { task } of results) task.job.problem = describeProblem('the results of its tasks cannot be recorded', error, next);
        // A log on the same disk must not grow while that is full.
        if (attempt <= attempts) log(`jobs: outcomes of ${results.length} tasks cannot be recorded: ${String(error)}`);
        if (isLast) throw error;
        await sleep(pause);
      }
    }
  }

  /** Lets outcomes gather while more are about to come: nothing else is done while the database flushes. */
  async function gather(): Promise<void> {
    const end = performance.now() + longestWait;
    while (queue.length < worthwhile && performance.now() < end && expectsMore()) await sleep(5);
  }

  async function writeAll(): Promise<void> {
    isWriting = true;
    for (await gather(); queue.length > 0; await gather()) {
      const batch = queue.splice(0, batchSize);
      const results = batch.map(({ result }) => result);
      try {
        const { over, refused } = await write(results);
        onRecorded(results, over, refused);
      } catch {
        // Logged above. Where other engines are, one of them does the tasks again; here they wait until the next start.
        onGivenUp(results.map(({ task }) => task));
      }
      for (const { done } of batch) done();
    }
    isWriting = false;
  }

  return (result) =>
    new Promise((resolve) => {
      queue.push({ result, done: resolve });
      if (!isWriting) void writeAll();
    });
}
