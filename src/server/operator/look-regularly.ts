import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two looks. */
const pause = 10_000;

/**
 * Looks at a database now, and again and again, so that whoever reads metrics waits for no database.
 * @param look never fails
 * @returns what ends it, and resolves when no look is under way
 */
export function lookRegularly(look: () => Promise<void>): () => Promise<void> {
  const end = new AbortController();
  const run = async (): Promise<void> => {
    while (!end.signal.aborted) {
      await look();
      await sleep(pause, undefined, { signal: end.signal }).catch(() => undefined);
    }
  };
  const running = run();
  return async () => {
    end.abort();
    await running;
  };
}
