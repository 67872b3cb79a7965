import type { Context } from '../../cli/command.ts';
import { withHint } from '../../base/error-copies.ts';
import { CloudError, InterruptedError, isOfAccess, NetworkError, PartialError } from '../../base/errors.ts';
import type { Entry } from '../../config/journal-entry.ts';
import type { Work } from '../../config/journal-file.ts';

/** True if the same work may succeed later: it was interrupted, or the network or a service failed. */
async function mayGoOn(error: unknown): Promise<boolean> {
  if (error instanceof InterruptedError || error instanceof PartialError || error instanceof NetworkError) return true;
  // Loaded when needed: it loads modules for requests, which help does not need.
  const { mayPass } = await import('../../transfer/retry.ts');
  return mayPass(error);
}

/** Notes each result when it arrives, unless an earlier run did: `cloud resume` shows how many steps are done. */
async function* noteSteps<T>(entry: Entry, steps: AsyncIterable<T>): AsyncGenerator<T> {
  let count = 0;
  for await (const step of steps) {
    const key = `step ${(count += 1)}`;
    if (entry.find(key) === undefined) entry.note(key, '');
    yield step;
  }
}

/** Runs work and yields its results; after an interrupt or a temporary failure, `cloud resume` can resume it. */
export async function* keepInJournal<T>(
  { journal }: Pick<Context, 'journal'>,
  work: Work,
  run: (entry: Entry) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const entry = (await journal()).begin(work);
  // False until the end: a consumer that stops early leaves the entry in the journal.
  let isOver = false;
  try {
    yield* noteSteps(entry, run(entry));
    isOver = true;
  } catch (error) {
    isOver = !((entry.isResumed && isOfAccess(error)) || (await mayGoOn(error)));
    throw isOver || entry.id === '' || !(error instanceof CloudError)
      ? error
      : withHint(error, [...error.hints, `to continue: cloud resume ${entry.id}`]);
  } finally {
    entry.close(isOver);
  }
}
