import type { JobError } from '../../api/objects.ts';
import type { Context } from '../../cli/command.ts';
import { isTransient } from '../../http/network-error.ts';
import { ApiError } from '../../base/errors.ts';
import { saysJson } from '../../output/notes.ts';
import type { JobContext, KnownJob } from './find.ts';
import { createReader } from './streams.ts';
import { describeError, quoteStderr, readStderr } from './task-errors.ts';
import { readCounts } from './wait.ts';

/** How many failures are printed in full, how many last lines of each task's stderr, and how many bytes are read for these lines. */
const toldFailures = 10;
const toldLines = 20;
const toldBytes = 64 * 1024;

/** Prints the first failures of a job on stderr, each once, with what its task wrote to its stderr. */
export interface FailureTeller {
  /** Prints the new failures of a running job. */
  tell(job: KnownJob): Promise<void>;
  /** Prints the remaining failures of a finished job, beyond ten only their number. Returns the number of all failures. */
  finish(job: KnownJob): Promise<number>;
}

/** Creates the `FailureTeller` of a job; it prints nothing if the output is for programs. */
export function createTeller(context: JobContext & Pick<Context, 'warn' | 'global'>, id: string): FailureTeller {
  const reader = createReader(context, id, 'errors');
  const isSilent = saysJson({ ...context.global });
  let count = 0;
  /** Number of errors that the service reported when they were last read. */
  let known: number | undefined = 0;

  async function tellOne(error: JobError): Promise<void> {
    count += 1;
    if (isSilent || count > toldFailures) return;
    context.warn(describeError(error));
    const text = await readStderr(context, error, toldBytes);
    if (text !== undefined && text !== '') for (const line of quoteStderr(text, toldLines)) context.warn(line);
  }

  async function tellNew(isDone: boolean): Promise<void> {
    for await (const error of reader.readNew(isDone)) await tellOne(error);
  }

  return {
    tell: async (job) => {
      const { errors } = readCounts(job);
      if (isSilent || count >= toldFailures || (errors !== undefined && errors === known)) return;
      try {
        await tellNew(false);
        known = errors;
      } catch (error) {
        // The job continues, and so does the wait: failures that cannot be read now are printed at the end.
        if (!(error instanceof ApiError) && !isTransient(error)) throw error;
      }
    },
    finish: async (job) => {
      const { errors } = readCounts(job);
      if (errors !== undefined && (isSilent || count >= toldFailures)) count = errors;
      else await tellNew(true);
      if (count > toldFailures && !isSilent) {
        context.warn(`... and ${count - toldFailures} more: cloud jobs errors ${job.id} --stderr`);
      }
      return count;
    },
  };
}
