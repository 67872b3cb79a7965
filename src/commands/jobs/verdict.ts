import type { Context } from '../../cli/command.ts';
import { exitCodes, PartialError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import type { FailureTeller } from './failures.ts';
import type { JobContext, KnownJob } from './find.ts';
import { readStream } from './streams.ts';
import { readCounts } from './wait.ts';
import { countOf } from '../../base/count.ts';

type Talk = Pick<Context, 'warn'>;

/** Number of paths among which repeated ones are recognized. */
const mostKept = 100_000;

/** Counts the paths of a stream, each once: an input may fail several times, as several intermediate objects. */
async function countPaths(context: JobContext & Talk, id: string, name: 'inputs' | 'failures' | 'outputs'): Promise<number> {
  const kept = new Set<string>();
  let others = 0;
  for await (const path of readStream(context, id, name, false)) {
    if (kept.has(path)) continue;
    if (kept.size < mostKept) kept.add(path);
    else others += 1;
  }
  return kept.size + others;
}

/**
 * Checks the result of a finished job, and prints failures that were not printed yet.
 * @param inputs number of distinct inputs, if known
 * @throws {PartialError} when it was cancelled or inputs failed: exit code 5 for some inputs, 1 for all or when there is no output
 */
export async function checkJob(
  context: JobContext & Talk,
  job: KnownJob,
  { teller, inputs }: { teller: FailureTeller; inputs?: number },
): Promise<void> {
  const { id } = job;
  const hint = `cloud jobs errors ${id} --stderr`;
  if (job.cancelled)
    throw new PartialError(`job ${id} was cancelled`, { allFailed: exitCodes.failed, hint: `cloud jobs get ${quoteShell(id)}` });
  const counts = readCounts(job);
  if (counts.errors === 0) return;
  const errors = await teller.finish(job);
  if (errors === 0) return;
  const failed = await countPaths(context, id, 'failures');
  const all = inputs ?? (await countPaths(context, id, 'inputs'));
  const outputs = counts.outputs ?? (await countPaths(context, id, 'outputs'));
  const isTotal = (failed > 0 && failed >= all) || outputs === 0;
  const what = failed === 0 ? `${countOf(errors, 'task')} failed` : `${failed} of ${countOf(all, 'input')} failed`;
  // Otherwise the numbers would contradict the exit code.
  const message = isTotal && failed < all ? `no output: ${what}` : what;
  throw new PartialError(message, { hint, ...(isTotal && { allFailed: exitCodes.failed }) });
}
