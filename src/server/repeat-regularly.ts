import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Repeats work until it is stopped.
 * @param work never rejects; its signal aborts when the work is no longer needed
 * @param pause milliseconds from the end of one run to the next
 * @param first milliseconds before the first run
 * @returns a function that stops the repetition, and resolves when no work is running
 */
export function repeatRegularly(
  work: (signal: AbortSignal) => Promise<unknown>,
  pause: () => number,
  first = pause(),
): () => Promise<void> {
  const end = new AbortController();
  const { signal } = end;
  const run = async (): Promise<void> => {
    for (let next = first; ; next = pause()) {
      await sleep(next, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      await work(signal);
    }
  };
  const running = run();
  return async () => {
    end.abort();
    await running;
  };
}
