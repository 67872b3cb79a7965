import { checkInterrupted } from './errors.ts';

/** How a pool works. */
export interface PoolOptions {
  /** Pieces of work under way at once. */
  readonly limit: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Does work for each item, several at once, in the order of the items; gives the results as they come. Items are taken only when there
 * is room, so memory stays bounded. After a failure nothing new begins; what is under way ends before the failure is thrown.
 */
export async function* runPool<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<R>,
  { limit, signal }: PoolOptions,
): AsyncGenerator<R> {
  const source = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const results: R[] = [];
  let running = 0;
  let isOver = false;
  let failure: { error: unknown } | undefined;
  let isClosed = false;
  let wake = (): void => undefined;
  let fetching = false;

  function fail(error: unknown): void {
    failure ??= { error };
  }

  function begin(item: T): void {
    running += 1;
    work(item)
      .then((result) => results.push(result), fail)
      .finally(() => {
        running -= 1;
        fetchNext();
        wake();
      });
  }

  /** Takes the next item when there is room, whether or not somebody takes a result just now: a slow reader of results holds up no work. */
  function fetchNext(): void {
    if (failure || isOver || fetching || running >= limit || results.length >= limit) return;
    if (signal?.aborted === true) {
      isOver = true;
      return;
    }
    fetching = true;
    Promise.resolve(source.next())
      .then((next) => {
        if (next.done === true) isOver = true;
        else if (!failure && !isClosed) begin(next.value);
      }, fail)
      .finally(() => {
        fetching = false;
        fetchNext();
        wake();
      });
  }

  try {
    for (;;) {
      fetchNext();
      const ready = results.splice(0);
      if (ready.length > 0) {
        yield* ready;
        continue;
      }
      if (!fetching && running === 0 && (isOver || failure)) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (results.length > 0) resolve();
      });
    }
  } finally {
    isOver = true;
    isClosed = true;
    await source.return?.();
  }
  checkInterrupted(signal, failure?.error);
  if (failure) throw failure.error;
}

/** Does work for each item, several at once. */
export async function drainPool<T>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<void>,
  options: PoolOptions,
): Promise<void> {
  const results = runPool(items, work, options);
  while ((await results.next()).done !== true);
}

/**
 * The same, but the results come in the order of the items. Results that wait for an earlier one are held, `window` of them at most.
 */
export async function* runOrdered<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<R>,
  { limit, signal, window = limit * 64 }: PoolOptions & { readonly window?: number },
): AsyncGenerator<R> {
  const held = new Map<number, R>();
  let next = 0;
  let isStopped = false;
  let release = (): void => undefined;
  function stop(): void {
    isStopped = true;
    release();
  }
  function isFull(number: number): boolean {
    return !isStopped && number - next >= window;
  }
  function waitForRoom(): Promise<void> {
    return new Promise((resolve) => {
      release = resolve;
    });
  }
  async function* numberItems(): AsyncGenerator<{ number: number; item: T }> {
    let number = 0;
    for await (const item of items) {
      while (isFull(number)) await waitForRoom();
      if (isStopped) return;
      yield { number, item };
      number += 1;
    }
  }
  async function workOn({ number, item }: { number: number; item: T }): Promise<{ number: number; result: R }> {
    try {
      return { number, result: await work(item) };
    } catch (error) {
      // Whoever waits for this result would wait for ever.
      stop();
      throw error;
    }
  }
  const results = runPool(numberItems(), workOn, { limit, signal });
  try {
    for (let got = await results.next(); got.done !== true; got = await results.next()) {
      held.set(got.value.number, got.value.result);
      while (held.has(next)) {
        const first = held.get(next) as R;
        held.delete(next);
        next += 1;
        yield first;
      }
      release();
    }
  } finally {
    stop();
    await results.return(undefined);
  }
}

/** The results of all items, in their order. */
export async function mapInParallel<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for await (const result of runOrdered(items, work, { limit })) results.push(result);
  return results;
}
