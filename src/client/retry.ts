import { ApiError } from '../errors.ts';
import { isTransient } from './network-error.ts';

/** When a request is sent again. */
export interface RetryPolicy {
  /** Tries after the first. */
  retries: number;
  /** Milliseconds to wait before the first further try; doubled for each next, jittered. */
  base: number;
  /** Most milliseconds between two tries, also when the service asks for more. */
  most: number;
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  random: () => number;
}

/** Statuses that mean `later`: nothing was done. 408 is a body that did not come. 449 asks for another version, never for another try. */
const later = new Set([408, 420, 429, 502, 503, 504]);

interface Attempt {
  idempotent: boolean;
  reads: boolean;
}

/** Whether a failed request may be sent again without doing harm. */
export function mayRetry(error: unknown, { idempotent, reads }: Attempt): boolean {
  if (error instanceof ApiError) {
    if (error.status === 420 || error.status === 429) return true;
    if (error.status === 500) return reads;
    return idempotent && later.has(error.status);
  }
  return idempotent && isTransient(error);
}

/** Seconds or a date of `Retry-After` in milliseconds from now. */
export function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const seconds = Number(value);
  const wait = Number.isNaN(seconds) ? Date.parse(value) - now : seconds * 1000;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** Milliseconds to wait before try number `attempt` (1 is the first further one): full jitter in the upper half. */
export function backOff(policy: RetryPolicy, attempt: number, asked: number | undefined): number {
  const ceiling = Math.min(policy.most, policy.base * 2 ** (attempt - 1));
  const wait = ceiling / 2 + (policy.random() * ceiling) / 2;
  return Math.min(policy.most, Math.max(wait, asked ?? 0));
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
