/** Does a step for each item, `limit` at a time; the results stand in the order of the items. The first failure ends it. */
export async function mapInParallel<T, R>(items: readonly T[], limit: number, step: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  async function work(): Promise<void> {
    for (;;) {
      const at = next;
      next += 1;
      const item = items[at];
      if (at >= items.length || item === undefined) return;
      results[at] = await step(item);
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  return results;
}
