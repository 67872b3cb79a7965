import type { ByteStream } from '../../api/message.ts';
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

/** Most bytes of a task's stderr that are shown: its end says why the task failed. */
const largestStderr = 16 * 1024 * 1024;
/** Characters of a line of it that are quoted. */
const longestLine = 1000;

/** An error record in one line: `phase 0: /demo/stor/a: user command exited with code 3 (UserTaskError)`. */
export function describeError({ phaseNum, input, what, message, code }: JobError): string {
  const place = input === undefined ? [what] : [...(phaseNum === undefined ? [] : [`phase ${phaseNum}`]), input];
  return `${place.join(': ')}: ${message} (${code})`;
}

/** The line that stands for the bytes before those that were read. */
const leftOut = /^\.\.\. \d+ bytes before$/;

/** The end of a body, with a line that says how much is left out before. */
async function readEnd(body: ByteStream, most: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let [kept, all] = [0, 0];
  for await (const piece of body) {
    pieces.push(piece);
    kept += piece.length;
    all += piece.length;
    for (let first = pieces[0]; first !== undefined && kept - first.length >= most; first = pieces[0]) {
      kept -= first.length;
      pieces.shift();
    }
  }
  const end = Buffer.concat(pieces).subarray(-most);
  return `${all > end.length ? `... ${all - end.length} bytes before\n` : ''}${end.toString()}`;
}

/** What a failed task wrote last to its stderr; undefined when nothing was saved, or when it may not be read. */
export async function readStderr(
  { storage, account }: JobContext,
  { stderr }: JobError,
  most = largestStderr,
): Promise<string | undefined> {
  if (stderr === undefined) return undefined;
  try {
    const { body } = await storage.getObject(readRemotePath(stderr, account));
    return await readEnd(body, most);
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return undefined;
    throw error;
  }
}

function shorten(line: string, most: number): string {
  return line.length <= most ? line : `${line.slice(0, most)} ... (${line.length} characters)`;
}

/** All of a task's stderr, or its last lines, shortened; set off from what this program says. */
export function quoteStderr(text: string, most = Infinity): string[] {
  const longest = most === Infinity ? Infinity : longestLine;
  const lines = text.replace(/\n$/, '').split('\n');
  const left = Math.max(0, lines.length - most);
  const more = leftOut.test(lines[0] ?? '') ? 'more' : `${left} lines`;
  return [
    ...(left > 0 ? [`  | ... ${more} before`] : []),
    ...lines.slice(left).map((line) => `  | ${escapeControl(shorten(line, longest))}`),
  ];
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
