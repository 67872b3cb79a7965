/**
 * Does work for each item, several at once, and gives the results in the order of the items. Items are taken only when
 * there is room, so that memory stays bounded.
 */
export async function* mapInOrder<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  width: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for await (const item of items) {
    const begun = work(item);
    // A failure is thrown in its turn; until then it must not count as unhandled.
    begun.catch(() => undefined);
    running.push(begun);
    const next = running.length < width ? undefined : running.shift();
    if (next) yield await next;
  }
  for (const each of running) yield await each;
}
