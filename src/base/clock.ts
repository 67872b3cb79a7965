/**
 * Milliseconds on the monotonic clock, for durations. The global `performance` would load `node:perf_hooks` first, which is 1 of the
 * 45 ms of `images list`.
 */
export function readClock(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
