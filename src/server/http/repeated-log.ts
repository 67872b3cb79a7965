/** Milliseconds between two lines about the same kind of event. */
export const repeatPeriod = 10_000;

/**
 * Creates a function that counts events of one kind, which clients can cause as often as they like, and logs the count at most once per
 * period: the log stays readable, and an attacker cannot make it grow.
 * @param describe formats the line for this many events
 */
export function createRepeatedLog(log: (line: string) => void, describe: (count: number) => string, period = repeatPeriod): () => void {
  let count = 0;
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    timer = undefined;
    if (count === 0) return;
    log(describe(count));
    count = 0;
    wait();
  };
  function wait(): void {
    timer = setTimeout(flush, period).unref();
  }
  return () => {
    count += 1;
    if (timer === undefined) flush();
  };
}
