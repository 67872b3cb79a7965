import type { Kysely } from 'kysely';
import { foldCounts } from './counts.ts';
import type { Schema } from './schema.ts';
import { foldUsage } from './usage.ts';

/** Milliseconds between two times of folding. */
const pause = 5000;

/** Folds counts of entries, and what accounts use, every few seconds. @returns what ends it, and resolves when no folding is under way */
export function foldRegularly(db: Kysely<Schema>, log: (line: string) => void): () => Promise<void> {
  const end = new AbortController();
  let folding: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const schedule = (): void => {
    timer = setTimeout(() => {
      folding = foldCounts(db, end.signal)
        .then(() => foldUsage(db, end.signal))
        .catch((error: unknown) => log(`counts cannot be folded: ${error instanceof Error ? error.message : String(error)}`))
        .then(() => (end.signal.aborted ? undefined : schedule()));
    }, pause);
  };
  schedule();
  return async () => {
    end.abort();
    clearTimeout(timer);
    await folding;
  };
}
