/** Results of commands, which are written as they arrive. */
type Items<T> = AsyncIterable<T> | Iterable<T>;

/** Yields what `change` makes of each item. */
export async function* mapEach<T, R>(items: Items<T>, change: (item: T) => R): AsyncGenerator<R> {
  for await (const item of items) yield change(item);
}

/** Yields what `change` makes of each item: nothing, or one or several results. */
export async function* flatMapEach<T, R>(items: Items<T>, change: (item: T) => Iterable<R>): AsyncGenerator<R> {
  for await (const item of items) yield* change(item);
}

/** Passes items on and, unless the reader stops early, calls `end` after the last, which may throw. */
export async function* andThen<T>(items: Items<T>, end: () => Promise<void> | void): AsyncGenerator<T> {
  yield* items;
  await end();
}

/** Passes items on and, unless the reader stops early, calls `end` with the number of those that count and of all. */
export async function* countEach<T>(
  items: Items<T>,
  counts: (item: T) => boolean,
  end: (counted: number, total: number) => void,
): AsyncGenerator<T> {
  let [counted, total] = [0, 0];
  for await (const item of items) {
    total += 1;
    if (counts(item)) counted += 1;
    yield item;
  }
  end(counted, total);
}
