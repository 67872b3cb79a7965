/** How much work is done, and how much of it at once. */
interface Load {
  readonly count: number;
  readonly concurrency: number;
}

/** What was measured: pieces of work done in a second, and milliseconds in which half of them, and 99 of 100, were done. */
export interface Measured {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
}

/** Does `count` pieces of work, `concurrency` of them at once, and measures each. */
export async function measureLoad({ count, concurrency }: Load, work: (number: number) => Promise<void>): Promise<Measured> {
  let next = 0;
  const times = new Float64Array(count);
  const started = performance.now();
  async function go(): Promise<void> {
    for (let number = next++; number < count; number = next++) {
      const begun = performance.now();
      await work(number);
      times[number] = performance.now() - begun;
    }
  }
  await Promise.all(Array.from({ length: concurrency }, go));
  const rate = count / ((performance.now() - started) / 1000);
  times.sort();
  const at = (share: number): number => times[Math.min(count - 1, Math.floor(count * share))] ?? 0;
  return { rate, p50: at(0.5), p99: at(0.99) };
}

/** Does `count` pieces of work, `concurrency` of them at once; how many were done in a second. */
export async function generateLoad(load: Load, work: (number: number) => Promise<void>): Promise<number> {
  return (await measureLoad(load, work)).rate;
}
