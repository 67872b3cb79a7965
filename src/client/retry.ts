import { ApiError, withHint } from '../base/errors.ts';
import { isTransient, isUnsent, timedOut } from '../http/network-error.ts';

/** When a request is sent again. */
export interface RetryPolicy {
  /** Tries after the first. */
  retries: number;
  /** The same where waiting longer is less likely to help: the request timed out, or a service that has not responded yet cannot be reached. */
  earlyRetries?: number;
  /** Milliseconds to wait before the first further try; doubled for each next, jittered. */
  base: number;
  /** Most milliseconds between two tries, unless the service asks for more. */
  most: number;
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  random: () => number;
}

/** Statuses that mean `later`: nothing was done. 408 is a body that did not come. 449 asks for another version, never for another try. */
const later = new Set([408, 420, 429, 502, 503, 504]);

interface Attempt {
  idempotent: boolean;
}

/** Whether a failed request may be sent again without doing harm. */
export function mayRetry(error: unknown, { idempotent }: Attempt): boolean {
  if (error instanceof ApiError) {
    if (error.status === 420 || error.status === 429) return true;
    return idempotent && (error.status === 500 || later.has(error.status));
  }
  return isTransient(error) && (idempotent || isUnsent(error));
}

/** How many times a request that failed in this way is sent again. */
export function countRetries({ retries, earlyRetries = retries }: RetryPolicy, error: unknown, hasResponded: boolean): number {
  return timedOut(error) || (isUnsent(error) && !hasResponded) ? Math.min(retries, earlyRetries) : retries;
}

/** Longest wait that a service may ask for where `--max-time` does not say, milliseconds. */
const longestAsked = 5 * 60_000;

/** The error of a service that asks for a longer wait than the user allows; undefined for every other. */
export function createLongWaitError(error: unknown, asked = 0, maxTime = longestAsked): ApiError | undefined {
  if (asked <= maxTime || !(error instanceof ApiError)) return undefined;
  const hint = `the service asks to try again in ${Math.ceil(asked / 1000)} s; to wait that long: --max-time ${Math.ceil(asked / 1000)}s`;
  return withHint(error, hint);
}

/** Seconds or a date of `Retry-After` in milliseconds from now. */
export function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const seconds = Number(value);
  const wait = Number.isNaN(seconds) ? Date.parse(value) - now : seconds * 1000;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** Milliseconds to wait before try number `attempt` (1 is the first further one): full jitter in the upper half. */
export function backOff(policy: Pick<RetryPolicy, 'base' | 'most' | 'random'>, attempt: number, asked: number | undefined): number {
  const ceiling = Math.min(policy.most, policy.base * 2 ** (attempt - 1));
  const wait = ceiling / 2 + (policy.random() * ceiling) / 2;
  return Math.max(wait, asked ?? 0);
}

/** Waits; less when interrupted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener('abort', done);
  });
}
