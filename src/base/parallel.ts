import { checkInterrupted } from './errors.ts';

export interface PoolOptions {
  /** Number of items processed concurrently. */
  readonly limit: number;
  readonly signal?: AbortSignal | undefined;
  /** False while no further item may be started; called again whenever an item ends or a result is consumed. */
  readonly mayTake?: () => boolean;
}

/**
 * Processes items concurrently, starting them in order; yields results as they complete. An item is fetched only when it can be started, so
 * memory stays bounded. After a failure no item is started; the running ones complete before the failure is thrown.
 */
export async function* runPool<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<R>,
  { limit, signal, mayTake = () => true }: PoolOptions,
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

  function end(): void {
    running -= 1;
    fetchNext();
    wake();
  }

  function begin(item: T): void {
    running += 1;
    // One `then` handles both outcomes: `finally` would double the cost of each item.
    work(item).then(
      (result) => {
        results.push(result);
        end();
      },
      (error: unknown) => {
        fail(error);
        end();
      },
    );
  }

  function goOn(): void {
    fetching = false;
    fetchNext();
    wake();
  }

  /** Starts the next item if there is room, whether or not a result is being consumed: a slow consumer does not delay the work. */
  function fetchNext(): void {
    if (failure || isOver || fetching || running >= limit || results.length >= limit || !mayTake()) return;
    if (signal?.aborted === true) {
      isOver = true;
      return;
    }
    fetching = true;
    Promise.resolve(source.next()).then(
      (next) => {
        if (next.done === true) isOver = true;
        else if (!failure && !isClosed) begin(next.value);
        goOn();
      },
      (error: unknown) => {
        fail(error);
        goOn();
      },
    );
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

/** Processes items concurrently, without results. */
export async function drainPool<T>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<void>,
  options: PoolOptions,
): Promise<void> {
  const results = runPool(items, work, options);
  while ((await results.next()).done !== true);
}

/** Like `runPool`, but yields results in the order of the items. At most `window` results that wait for an earlier one are held. */
export async function* runOrdered<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<R>,
  { limit, signal, window = limit * 64 }: PoolOptions & { readonly window?: number },
): AsyncGenerator<R> {
  const held = new Map<number, R>();
  let begun = 0;
  let next = 0;
  // Items start in order. While the window is full, the first unfinished item is running, and its end calls `mayTake` again.
  async function workOn(item: T): Promise<{ number: number; result: R }> {
    const number = begun;
    begun += 1;
    return { number, result: await work(item) };
  }
  const results = runPool(items, workOn, { limit, signal, mayTake: () => begun - next < window });
  try {
    for (let got = await results.next(); got.done !== true; got = await results.next()) {
      held.set(got.value.number, got.value.result);
      while (held.has(next)) {
        const first = held.get(next) as R;
        held.delete(next);
        next += 1;
        yield first;
      }
    }
  } finally {
    await results.return(undefined);
  }
}

/** The results of all items, in order. */
export async function mapInParallel<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for await (const result of runOrdered(items, work, { limit })) results.push(result);
  return results;
}
