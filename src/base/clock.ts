/** Maximum duration of a timer, milliseconds, about 25 days: with a longer one it would fire immediately. */
export const longestTimer = 2 ** 31 - 1;

/**
 * Milliseconds on the monotonic clock, for durations: only differences have a meaning. The global `performance` would load
 * `node:perf_hooks` first, which is 1 of the 60 ms of `images list` (2026-11-27).
 */
export function readClock(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
