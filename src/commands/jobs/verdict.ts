import { readAll } from '../../api/message.ts';
import type { Job, JobError } from '../../api/objects.ts';
import type { Context } from '../../cli/command.ts';
import { exitCodes, PartialError } from '../../errors.ts';
import { escapeControl } from '../../output/escape.ts';
import { ApiError } from '../../errors.ts';
import { readRemotePath } from '../../transfer/path.ts';
import type { FailureTeller } from './failures.ts';
import type { JobContext } from './find.ts';
import { readStream } from './streams.ts';
import { readCounts } from './wait.ts';

type Talk = Pick<Context, 'warn'>;

/** Bytes of a task's stderr that are read. */
const largestStderr = 16 * 1024 * 1024;

/** An error record in one line: `phase 0: /demo/stor/a: user command exited with code 3 (UserTaskError)`. */
export function describeError({ phaseNum, input, what, message, code }: JobError): string {
  const place = input === undefined ? [what] : [...(phaseNum === undefined ? [] : [`phase ${phaseNum}`]), input];
  return `${place.join(': ')}: ${message} (${code})`;
}

/** What a failed task wrote to its stderr; undefined when nothing was saved, or when it may not be read. */
export async function readStderr({ storage, account }: JobContext, { stderr }: JobError): Promise<string | undefined> {
  if (stderr === undefined) return undefined;
  try {
    const { body } = await storage.getObject(readRemotePath(stderr, account));
    return Buffer.from(await readAll(body, largestStderr)).toString();
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return undefined;
    throw error;
  }
}

/** The last lines of a task's stderr, set off from what this program says. */
export function quoteStderr(text: string, most = Infinity): string[] {
  const lines = text.replace(/\n$/, '').split('\n');
  const left = Math.max(0, lines.length - most);
  return [...(left > 0 ? [`  | ... ${left} lines before`] : []), ...lines.slice(left).map((line) => `  | ${escapeControl(line)}`)];
}

async function countRecords(context: JobContext & Talk, id: string, name: 'inputs' | 'failures' | 'outputs'): Promise<number> {
  let count = 0;
  for await (const _ of readStream(context, id, name, false)) count += 1;
  return count;
}

/**
 * Ends the work on a job that is done: with an error when it was cancelled or inputs failed.
 * @throws {PartialError} exit code 5 when some inputs failed, 1 when all did or nothing came out
 */
export async function checkJob(
  context: JobContext & Talk,
  job: Job,
  { teller, inputs }: { teller: FailureTeller; inputs?: number },
): Promise<void> {
  const { id } = job;
  const hint = `cloud jobs errors ${id} --stderr`;
  if (job.cancelled) throw new PartialError(`job ${id} was cancelled`, { allFailed: exitCodes.failed, hint: `cloud jobs get ${id}` });
  const counts = readCounts(job);
  if (counts.errors === 0) return;
  const errors = await teller.finish(job);
  if (errors === 0) return;
  const failed = await countRecords(context, id, 'failures');
  const all = inputs ?? (await countRecords(context, id, 'inputs'));
  const outputs = counts.outputs ?? (await countRecords(context, id, 'outputs'));
  const isTotal = (failed > 0 && failed >= all) || outputs === 0;
  const message = failed === 0 ? `${errors} ${errors === 1 ? 'task' : 'tasks'} failed` : `${failed} of ${all} inputs failed`;
  throw new PartialError(message, { hint, ...(isTotal && { allFailed: exitCodes.failed }) });
}
