import { checkInterrupted } from './errors.ts';

export interface PoolOptions {
  /** Number of items processed concurrently. */
  readonly limit: number;
  readonly signal?: AbortSignal | undefined;
  /** False while no further item may be started; called again whenever an item ends or a result is consumed. */
  readonly mayTake?: () => boolean;
}

/** Callbacks for the outcome of an operation. */
interface Waiting<R> {
  give(result: R): void;
  fail(error: unknown): void;
}

/** Reports the outcome of an operation; synchronously if it returns no promise. */
function watch<R>(begin: () => Promise<R> | R, { give, fail }: Waiting<R>): void {
  let begun: Promise<R> | R;
  try {
    begun = begin();
  } catch (error) {
    return fail(error);
  }
  // One `then` handles both outcomes: `finally` would double the cost of each item.
  if (begun instanceof Promise) begun.then(give, fail);
  else give(begun);
}

/**
 * Processes items concurrently, starting them in order; yields results as they complete. An item is fetched only when it can be started, so
 * memory stays bounded. `work` may return a result without a promise. After a failure no item is started; the running ones complete before
 * the failure is thrown.
 */
export async function* runPool<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<R> | R,
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

  function goOn(): void {
    fetchNext();
    wake();
  }
  const fail = (error: unknown): void => {
    failure ??= { error };
    goOn();
  };

  const working: Waiting<R> = {
    give: (result) => {
      running -= 1;
      results.push(result);
      goOn();
    },
    fail: (error) => {
      running -= 1;
      fail(error);
    },
  };
  const taking: Waiting<IteratorResult<T>> = {
    give: (next) => {
      fetching = false;
      if (next.done === true) isOver = true;
      else if (!failure && !isClosed) {
        running += 1;
        watch(() => work(next.value), working);
      }
      goOn();
    },
    fail: (error) => {
      fetching = false;
      fail(error);
    },
  };

  /** Starts the next item if there is room, whether or not a result is being consumed: a slow consumer does not delay the work. */
  function fetchNext(): void {
    if (failure || isOver || fetching || running >= limit || results.length >= limit || !mayTake()) return;
    if (signal?.aborted === true) {
      isOver = true;
      return;
    }
    fetching = true;
    watch(() => Promise.resolve(source.next()), taking);
  }

  try {
    for (;;) {
      fetchNext();
      const ready = results.splice(0);
      // In an async generator `yield*` creates further promises for each value.
      for (const result of ready) yield result;
      if (ready.length > 0) continue;
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

interface Numbered<R> {
  readonly number: number;
  readonly result: R;
}

/** Like `runPool`, but yields results in the order of the items. At most `window` results that wait for an earlier one are held. */
export async function* runOrdered<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<R> | R,
  { limit, signal, window = limit * 64 }: PoolOptions & { readonly window?: number },
): AsyncGenerator<R> {
  const held = new Map<number, R>();
  let begun = 0;
  let next = 0;
  // Items start in order. While the window is full, the first unfinished item is running, and its end calls `mayTake` again.
  function workOn(item: T): Promise<Numbered<R>> | Numbered<R> {
    const number = begun;
    begun += 1;
    const worked = work(item);
    return worked instanceof Promise ? worked.then((result) => ({ number, result })) : { number, result: worked };
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
