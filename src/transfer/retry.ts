import { isTransient } from '../http/network-error.ts';
import { backOff, pause } from '../client/retry.ts';
import { ApiError, checkInterrupted, NetworkError, SilentServiceError } from '../base/errors.ts';

/** How often, and for how long, work on one file is begun again. */
export interface RetryLimits {
  /** Tries after the first that failed without any progress. */
  readonly retries: number;
  /** Ends waiting and work. */
  readonly signal?: AbortSignal | undefined;
}

/** Milliseconds before the second try, doubled for each next, and at most. */
const pauses = { base: 100, most: 10_000, random: Math.random };

/** Failures of the way, not of the request: what came or went was damaged or cut. */
const damages = new Set(['TruncatedReply', 'DamagedReply', 'DamagedUpload', 'UnreadableReply', 'CannotResume', 'NoRanges']);

/** Whether a transfer that ended so may end better when it is done again. */
export function mayTryAgain(error: unknown): boolean {
  return isTransient(error) || (error instanceof NetworkError && damages.has(error.code));
}

/** Whether work that ended so may be done by a later run: what failed was the way, or the service for a while. */
export function mayPass(error: unknown): boolean {
  return mayTryAgain(error) || error instanceof SilentServiceError || (error instanceof ApiError && error.status >= 500);
}

/** Waits after failed try `attempt`, where another one may help. @throws the failure otherwise */
export async function pauseAfter(error: unknown, attempt: number, { retries, signal }: RetryLimits): Promise<void> {
  checkInterrupted(signal, error);
  if (attempt > retries || !mayTryAgain(error)) throw error;
  await pause(backOff(pauses, attempt, undefined), signal);
  checkInterrupted(signal);
}

/** Does work again while it fails for reasons that may pass. @throws what the last try threw */
export async function tryAgain<T>(work: (attempt: number) => Promise<T>, limits: RetryLimits): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      await pauseAfter(error, attempt, limits);
    }
  }
}
