import { ApiError } from '../../base/errors.ts';
import { setNewest } from '../../base/newest.ts';

/** Maximum number of buckets: the one that was not used for longest is forgotten, and its caller starts with a full one. */
const mostBuckets = 10_000;

/** The result of taking tokens from a bucket. */
export interface Taken {
  readonly granted: number;
  /** Tokens in the bucket afterwards. */
  readonly left: number;
}

/** Creates token buckets that get `rate` tokens per second and hold as many; up to `want` are taken. @param now milliseconds */
export function createBuckets(now: () => number): (caller: string, rate: number, want: number) => Taken {
  const buckets = new Map<string, { left: number; at: number }>();
  return (caller, rate, want) => {
    const time = now();
    const { left: before, at } = buckets.get(caller) ?? { left: rate, at: time };
    const filled = Math.min(rate, before + ((time - at) / 1000) * rate);
    const granted = Math.min(want, Math.floor(filled));
    const left = filled - granted;
    setNewest(buckets, caller, { left, at: time }, mostBuckets);
    return { granted, left };
  };
}

/**
 * Creates the function that admits `rate` requests per second of each caller, with bursts of the same number, and throws 420
 * `RequestThrottled` for more. A caller is an account, or the address of requests without a valid signature: no caller uses up the rate of
 * another.
 */
export function createThrottle(rate: number | undefined): (caller: string) => void {
  if (rate === undefined) return () => undefined;
  const take = createBuckets(() => performance.now());
  return (caller) => {
    if (take(caller, rate, 1).granted < 1)
      throw new ApiError(420, 'RequestThrottled', `more than ${rate} requests per second: send fewer, or retry in a second`);
  };
}
