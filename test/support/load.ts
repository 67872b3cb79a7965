/** How much work is done, and how much of it at once. */
interface Load {
  readonly count: number;
  readonly concurrency: number;
}

/** Does `count` pieces of work, `concurrency` of them at once; how many were done in a second. */
export async function generateLoad({ count, concurrency }: Load, work: (number: number) => Promise<void>): Promise<number> {
  let next = 0;
  const started = performance.now();
  async function go(): Promise<void> {
    for (let number = next++; number < count; number = next++) await work(number);
  }
  await Promise.all(Array.from({ length: concurrency }, go));
  return count / ((performance.now() - started) / 1000);
}
