import { isTransient } from '../client/network-error.ts';
import { pause } from '../client/retry.ts';
import { InterruptedError, NetworkError } from '../errors.ts';

/** How often, and for how long, work on one file is begun again. */
export interface Patience {
  /** Tries after the first that failed without any progress. */
  readonly retries: number;
  /** Ends waiting and work. */
  readonly signal?: AbortSignal | undefined;
}

/** Patience of small requests: listings and questions. */
export const usualPatience: Patience = { retries: 3 };

/** Milliseconds before the second try; doubled for each next. */
const firstPause = 100;
const longestPause = 10_000;

/** Failures of the way, not of the request: what came or went was damaged or cut. */
const damages = new Set(['TruncatedReply', 'DamagedReply', 'DamagedUpload', 'UnreadableReply', 'CannotResume', 'NoRanges']);

/** Whether a transfer that ended so may end better when it is done again. */
export function mayTryAgain(error: unknown): boolean {
  return isTransient(error) || (error instanceof NetworkError && damages.has(error.code));
}

/** @throws {InterruptedError} when the user has interrupted the program. */
export function checkInterrupted(signal: AbortSignal | undefined, cause?: unknown): void {
  if (signal?.aborted === true) throw new InterruptedError('interrupted', { cause });
}

/** Waits before try `attempt` (1 is the second), longer each time and never for everybody equally long. */
export async function pauseBefore(attempt: number, signal?: AbortSignal): Promise<void> {
  const ceiling = Math.min(longestPause, firstPause * 2 ** (attempt - 1));
  await pause(ceiling / 2 + (Math.random() * ceiling) / 2, signal);
  checkInterrupted(signal);
}

/** Does work again while it fails for reasons that may pass. @throws what the last try threw */
export async function tryAgain<T>(work: (attempt: number) => Promise<T>, { retries, signal }: Patience): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      checkInterrupted(signal, error);
      if (attempt > retries || !mayTryAgain(error)) throw error;
      await pauseBefore(attempt, signal);
    }
  }
}
