/** Milliseconds between two lines about the same kind of event. */
const defaultPeriod = 10_000;

/**
 * Makes a function that counts events of one kind, which a client can cause as often as it likes, and logs the count at most once in a
 * period: the log stays readable, and its size does not depend on who attacks.
 * @param describe the line for so many events
 */
export function createRepeatedLog(log: (line: string) => void, describe: (count: number) => string, period = defaultPeriod): () => void {
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
