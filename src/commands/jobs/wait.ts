import type { Context } from '../../cli/command.ts';
import { checkInterrupted, InterruptedError, WaitError } from '../../base/errors.ts';
import { spin, within } from '../../cli/wait.ts';
import { formatDuration } from '../../output/units.ts';
import { pause } from '../../client/retry.ts';
import { tryAgain } from '../../transfer/retry.ts';
import { readJob, type JobContext, type KnownJob } from './find.ts';
import { countOf } from '../../base/count.ts';

/** Minimum and maximum delay between two requests, milliseconds; in between a twentieth of the time waited so far. */
const shortest = 50;
const longest = 2000;

/** The counters of a job; all are optional in the API. */
export interface Counts {
  tasks?: number;
  tasksDone?: number;
  outputs?: number;
  errors?: number;
  retries?: number;
}

/** The counters of a job that the service reports. */
export function readCounts({ stats = {} }: KnownJob): Counts {
  return Object.fromEntries(Object.entries(stats).filter(([, value]) => typeof value === 'number'));
}

function countThings(count: number | undefined, noun: string): string[] {
  return count === undefined ? [] : [countOf(count, noun)];
}

/** Describes the progress of a job: `12 of 30 tasks done, 3 outputs, 1 error`. */
export function describeProgress(job: KnownJob): string {
  const { tasks, tasksDone, outputs, errors } = readCounts(job);
  const done = tasks === undefined ? [] : [`${tasksDone ?? 0} of ${tasks} tasks done`];
  const parts = [...done, ...countThings(outputs, 'output'), ...countThings(errors, 'error')];
  const progress = [
    ...(parts.length === 0 ? [job.state ?? 'the service reports no progress'] : parts),
    ...(job.inputDone !== false || job.state === 'done' ? [] : ['input open']),
  ];
  return [...progress, ...(job.problem === undefined ? [] : [job.problem])].join(', ');
}

/** Creates a function that prints each problem that a service reports of a job, once. */
export function createProblemWarning({ warn }: Pick<Context, 'warn'>): (job: KnownJob) => void {
  let last: string | undefined;
  return ({ id, problem }) => {
    if (problem !== undefined && problem !== last) warn(`job ${id}: ${problem}`);
    last = problem;
  };
}

/** Describes the result of a finished job: `done in 12s: 30 outputs, 1 error`. */
export function describeEnd(job: KnownJob): string {
  const { outputs, errors } = readCounts(job);
  const time = Date.parse(job.timeDone ?? '') - Date.parse(job.timeCreated ?? '');
  const took = Number.isNaN(time) ? '' : ` in ${formatDuration(Math.max(0, time))}`;
  const counts = [...countThings(outputs, 'output'), ...countThings(errors, 'error')].join(', ');
  return `${job.cancelled === true ? 'cancelled' : 'done'}${took}${counts === '' ? '' : `: ${counts}`}`;
}

/** Creates the error for a timeout before the service has responded. @param timeout milliseconds */
export function explainSilence(job: string, timeout: number): WaitError {
  return new WaitError(`job ${job}: the service did not report a state within ${formatDuration(timeout)}`, {
    hint: 'wait longer with --wait-timeout',
  });
}

/** Yields the state of a job repeatedly until it is done. @throws {WaitError} after `timeout` milliseconds */
export async function* pollJob(context: JobContext, id: string, timeout = Infinity): AsyncGenerator<KnownJob> {
  const { now, interrupted } = context.world;
  const start = now();
  let known: KnownJob | undefined;
  const explainOpen = (job: KnownJob): WaitError =>
    new WaitError(`job ${id} is not done after ${formatDuration(timeout)}: ${describeProgress(job)}`, { hint: hintAttach(id) });
  for (;;) {
    // Each request is retried by the client; this repeats the read if all these attempts failed.
    const read = tryAgain(() => readJob(context, id), { retries: context.storage.retries, signal: interrupted });
    const job = await within(timeout - (now() - start), read, () => (known ? explainOpen(known) : explainSilence(id, timeout)));
    known = job;
    yield job;
    if (job.state === 'done') return;
    const waited = now() - start;
    if (waited >= timeout) throw explainOpen(job);
    await pause(Math.min(longest, Math.max(shortest, waited / 20), timeout - waited), interrupted);
    checkInterrupted(interrupted);
  }
}

/** The commands to type when the wait has ended before the job. */
export function hintAttach(id: string): string {
  return `to wait again: cloud jobs wait ${id}; to see its outputs: cloud jobs outputs ${id} --cat; to cancel it: cloud jobs cancel ${id}`;
}

/** Waits for a job with a spinner; calls `onState` with each state before the last. Ctrl-C ends the wait, not the job. */
export async function waitForJob(
  context: JobContext & Pick<Context, 'global' | 'warn'>,
  id: string,
  timeout: number | undefined,
  onState: (job: KnownJob) => Promise<void> = async () => undefined,
): Promise<KnownJob> {
  async function look(update: (text: string) => void): Promise<KnownJob> {
    const warnOfProblem = createProblemWarning(context);
    let last: KnownJob | undefined;
    for await (const job of pollJob(context, id, timeout)) {
      warnOfProblem(job);
      update(`job ${id.slice(0, 8)}: ${describeProgress(job)}`);
      if (job.state !== 'done') await onState(job);
      last = job;
    }
    return last ?? (await readJob(context, id));
  }
  try {
    return await spin(context, `job ${id.slice(0, 8)}`, look);
  } catch (error) {
    if (!(error instanceof InterruptedError)) throw error;
    throw new InterruptedError(`stopped waiting: job ${id} continues`, { hint: hintAttach(id), cause: error });
  }
}
