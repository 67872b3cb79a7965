import { isTransient } from '../http/network-error.ts';
import { backOff, isExhausted, noteExhausted, pause } from '../client/retry.ts';
import { ApiError, checkInterrupted, NetworkError, SilentServiceError } from '../base/errors.ts';

/** How often, and until when, work on one file is retried. */
export interface RetryLimits {
  /** Maximum number of consecutive retries without any progress. */
  readonly retries: number;
  /** Ends both waiting and work. */
  readonly signal?: AbortSignal | undefined;
}

/** Milliseconds before the first retry, doubled for each further one, and their maximum. */
const pauses = { base: 100, most: 10_000, random: Math.random };

/** Errors of transmission, not of the request: data was damaged or truncated. */
const damages = new Set(['TruncatedReply', 'DamagedReply', 'DamagedUpload', 'UnreadableReply', 'CannotResume', 'NoRanges']);

/** True if the transfer may succeed when it is retried. */
export function mayTryAgain(error: unknown): boolean {
  return isTransient(error) || (error instanceof NetworkError && damages.has(error.code));
}

/** True if a later run may succeed: the transmission failed, or the service failed temporarily. */
export function mayPass(error: unknown): boolean {
  return mayTryAgain(error) || error instanceof SilentServiceError || (error instanceof ApiError && error.status >= 500);
}

/**
 * Waits after failed attempt `attempt`, if a retry may help. Work that was retried for as long as the limits allow, such as a request by the
 * client, is not retried again.
 * @throws the failure otherwise
 */
export async function pauseAfter(error: unknown, attempt: number, { retries, signal }: RetryLimits): Promise<void> {
  checkInterrupted(signal, error);
  if (!mayTryAgain(error) || isExhausted(error)) throw error;
  // Work without retries of its own leaves them to the work that contains it.
  if (attempt > retries && retries > 0) noteExhausted(error);
  if (attempt > retries) throw error;
  await pause(backOff(pauses, attempt, undefined), signal);
  checkInterrupted(signal);
}

/** Retries work while it fails for transient reasons. @throws the error of the last attempt */
export async function tryAgain<T>(work: (attempt: number) => Promise<T>, limits: RetryLimits): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      await pauseAfter(error, attempt, limits);
    }
  }
}
