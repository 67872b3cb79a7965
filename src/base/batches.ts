/** Splits a list into batches of at most `size` items. */
export function* sliceList<T>(list: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < list.length; at += size) yield list.slice(at, at + size);
}

/** Collects items into batches of `size`; the last batch may be smaller. */
export async function* gatherItems<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Characters that are written in one call. */
const textSize = 64 * 1024;

/** Collects text, which `write` receives in large pieces; `flush` writes the rest. */
export function batchText(write: (text: string) => void): { add: (text: string) => void; flush: () => void } {
  let held = '';
  const flush = (): void => {
    if (held !== '') write(held);
    held = '';
  };
  const add = (text: string): void => {
    held += text;
    if (held.length > textSize) flush();
  };
  return { add, flush };
}
