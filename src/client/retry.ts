import { longestTimer } from '../base/clock.ts';
import { withHint } from '../base/error-copies.ts';
import { ApiError } from '../base/errors.ts';
import { isTransient, isUnsent, timedOut } from '../http/network-error.ts';

/** When a request is retried. */
export interface RetryPolicy {
  /** Maximum number of retries. */
  retries: number;
  /** The same for failures where waiting helps less: the request timed out, or a service that has not responded yet is unreachable. */
  earlyRetries?: number;
  /** The same for work of several requests, each of which is retried too: the work is retried only for what its requests cannot retry. */
  workRetries?: number;
  /** Milliseconds before the first retry; doubled for each further one, with jitter. */
  base: number;
  /** Maximum milliseconds between two attempts, unless the service requests more. */
  most: number;
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  random: () => number;
}

/** Statuses of a request that was not carried out, because there were too many. */
const throttled = new Set([420, 429]);

/**
 * Statuses after which it is unknown whether the request was carried out, so that only idempotent requests are retried. 449 is excluded: it
 * requests another version.
 */
const temporary = new Set([408, 500, 502, 503, 504]);

interface Attempt {
  idempotent: boolean;
}

/** True if a failed request may safely be retried. */
export function mayRetry(error: unknown, { idempotent }: Attempt): boolean {
  if (error instanceof ApiError) return throttled.has(error.status) || (idempotent && temporary.has(error.status));
  return isTransient(error) && (idempotent || isUnsent(error));
}

/** Errors of work that was retried for as long as the policy allows. */
const exhausted = new WeakSet<object>();

/** Notes that no retries are left for an error: work that contains the failed work does not retry it either. */
export function noteExhausted(error: unknown): void {
  if (error instanceof Error) exhausted.add(error);
}

/** True if the work that failed with this error has been retried for as long as the policy allows. */
export function isExhausted(error: unknown): boolean {
  return error instanceof Error && exhausted.has(error);
}

/** How many times a request that failed in this way is retried. */
export function countRetries({ retries, earlyRetries = retries }: RetryPolicy, error: unknown, hasResponded: boolean): number {
  return timedOut(error) || (isUnsent(error) && !hasResponded) ? Math.min(retries, earlyRetries) : retries;
}

/** Maximum wait that a service may request without `--max-time`, milliseconds. */
const longestAsked = 5 * 60_000;

/** The error for a service that requests a longer wait than the user allows; undefined otherwise. */
export function createLongWaitError(error: unknown, asked = 0, maxTime = longestAsked): ApiError | undefined {
  if (asked <= maxTime || !(error instanceof ApiError)) return undefined;
  const seconds = Math.ceil(asked / 1000);
  return withHint(error, `the service asks for a retry in ${seconds} s; to wait that long: --max-time ${seconds}s`);
}

/** Converts the seconds or date of `Retry-After` to milliseconds from now; undefined if it is neither, as RFC 9110 defines them. */
export function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,10}$/.test(value)) return Number(value) * 1000;
  // A date begins with the day of the week; `Date.parse` also takes numbers such as -1 for dates.
  const wait = /^[A-Z]/i.test(value) ? Date.parse(value) - now : NaN;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** Milliseconds to wait before retry number `attempt` (from 1): equal jitter, between half of the exponential delay and all of it. */
export function backOff(policy: Pick<RetryPolicy, 'base' | 'most' | 'random'>, attempt: number, asked: number | undefined): number {
  const ceiling = Math.min(policy.most, policy.base * 2 ** (attempt - 1));
  const wait = ceiling / 2 + (policy.random() * ceiling) / 2;
  return Math.max(wait, asked ?? 0);
}

/** Waits; returns early when interrupted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, signal?.aborted === true ? 0 : Math.min(milliseconds, longestTimer));
    signal?.addEventListener('abort', done);
  });
}
