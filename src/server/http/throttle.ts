import { ApiError } from '../../base/errors.ts';

/** Callers whose rate is remembered: those that have not asked for longest are forgotten, and begin anew. */
const mostBuckets = 10_000;

/**
 * Makes the function that lets `rate` requests a second of each caller pass, that many at once, and throws 420 `RequestThrottled` for more.
 * A caller is an account, or the address that requests without a valid signature come from: nobody uses up what others may send.
 */
export function createThrottle(rate: number | undefined): (caller: string) => void {
  if (rate === undefined) return () => undefined;
  const buckets = new Map<string, { left: number; before: number }>();
  return (caller) => {
    const now = performance.now();
    const { left, before } = buckets.get(caller) ?? { left: rate, before: now };
    buckets.delete(caller);
    const [oldest] = buckets.keys();
    if (buckets.size >= mostBuckets && oldest !== undefined) buckets.delete(oldest);
    const filled = Math.min(rate, left + ((now - before) / 1000) * rate);
    buckets.set(caller, { left: filled < 1 ? filled : filled - 1, before: now });
    if (filled < 1)
      throw new ApiError(420, 'RequestThrottled', `more than ${rate} requests a second: send fewer, or try again in a second`);
  };
}
