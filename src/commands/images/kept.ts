import type { Context } from '../../cli/command.ts';
import { CloudError, InterruptedError, NetworkError, PartialError } from '../../base/errors.ts';
import type { Entry } from '../../config/journal.ts';
import type { Work } from '../../config/journal-file.ts';

/** Whether the same work may come to its end later: it was interrupted, or what failed was the way or a service. */
async function mayGoOn(error: unknown): Promise<boolean> {
  if (error instanceof InterruptedError || error instanceof PartialError || error instanceof NetworkError) return true;
  // Loads what belongs to requests, which help does not need.
  const { mayPass } = await import('../../transfer/retry.ts');
  return mayPass(error);
}

function addHint(error: CloudError, id: string): CloudError {
  const hint = [error.hint, `to go on with it: cloud resume ${id}`].filter((line) => line !== undefined).join('\n');
  return Object.create(error, { hint: { value: hint, enumerable: true } }) as CloudError;
}

/** Work that `cloud resume` can go on with when it does not come to its end. What it yields is yielded. */
export async function* keepInJournal<T>(
  { journal }: Pick<Context, 'journal'>,
  work: Work,
  run: (entry: Entry) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const entry = (await journal()).begin(work);
  // Whoever reads the results may stop early.
  let isOver = false;
  try {
    yield* run(entry);
    isOver = true;
  } catch (error) {
    isOver = !(await mayGoOn(error));
    throw isOver || entry.id === '' || !(error instanceof CloudError) ? error : addHint(error, entry.id);
  } finally {
    entry.close(isOver);
  }
}
