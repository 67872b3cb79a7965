import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Does work again and again.
 * @param work never fails; its signal says that nobody needs it any more
 * @param pause milliseconds from the end of one time to the next
 * @param first milliseconds before the first time
 * @returns what ends it, and resolves when no work is under way
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
