import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runOrdered, runPool } from '../../../src/base/parallel.ts';

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
}

test('never more than the limit at once, items are taken only when there is room, every result comes', async () => {
  let running = 0;
  let most = 0;
  let taken = 0;
  let done = 0;
  async function* items(): AsyncGenerator<number> {
    for (let item = 0; item < 100; item += 1) {
      taken += 1;
      expect(taken - done).toBeLessThanOrEqual(9);
      yield item;
    }
  }
  const results = await collect(
    runPool(
      items(),
      async (item) => {
        running += 1;
        most = Math.max(most, running);
        await sleep(Math.random() * 3);
        running -= 1;
        done += 1;
        return item;
      },
      { limit: 8 },
    ),
  );
  expect(most).toBe(8);
  expect(results.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, item) => item));
});

test('work goes on while nobody takes a result, until as many results wait as may be under way', async () => {
  let done = 0;
  const items = Array.from({ length: 100 }, (_, item) => item);
  const results = runPool(items, async () => (done += 1), { limit: 4 });
  await results.next();
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
  expect(done).toBeGreaterThan(4);
  expect(done).toBeLessThanOrEqual(12);
  await results.return(undefined);
  const ended = done;
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
  expect(done).toBe(ended);
});

test('a failure stops new work; what is under way ends first', async () => {
  const ended: number[] = [];
  const begun: number[] = [];
  const work = async (item: number): Promise<void> => {
    begun.push(item);
    if (item === 3) throw new Error('three');
    await sleep(10);
    ended.push(item);
  };
  await expect(collect(runPool([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], work, { limit: 4 }))).rejects.toThrow('three');
  expect(begun).toEqual([0, 1, 2, 3]);
  expect(ended).toEqual([0, 1, 2]);
});

test('in order: behind an item that takes long, others are begun up to the window and held', async () => {
  const begun: number[] = [];
  let release = (): void => undefined;
  const first = new Promise<void>((resolve) => (release = resolve));
  const items = Array.from({ length: 50 }, (_, item) => item);
  const work = async (item: number): Promise<number> => {
    begun.push(item);
    if (item === 0) await first;
    return item;
  };
  const results = collect(runOrdered(items, work, { limit: 3, window: 7 }));
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6]);
  release();
  expect(await results).toEqual(items);
  expect(begun).toEqual(items);
});

test('in order: a failure ends what waits for it, and nothing is begun any more', async () => {
  const begun: number[] = [];
  const work = async (item: number): Promise<number> => {
    begun.push(item);
    await setImmediate();
    if (item === 1) throw new Error('one');
    return item;
  };
  const items = Array.from({ length: 50 }, (_, item) => item);
  await expect(collect(runOrdered(items, work, { limit: 2, window: 4 }))).rejects.toThrow('one');
  expect(begun.length).toBeLessThan(10);
});

test('a source that fails is a failure; one that is left early is closed', async () => {
  let isClosed = false;
  async function* broken(): AsyncGenerator<number> {
    yield 1;
    throw new Error('source');
  }
  await expect(collect(runPool(broken(), async (item) => item, { limit: 2 }))).rejects.toThrow('source');
  async function* endless(): AsyncGenerator<number> {
    try {
      for (let item = 0; ; item += 1) yield item;
    } finally {
      isClosed = true;
    }
  }
  for await (const item of runPool(endless(), async (item) => item, { limit: 3 })) if (item > 10) break;
  expect(isClosed).toBe(true);
});

test('an interruption ends the pool', async () => {
  const stop = new AbortController();
  const seen: number[] = [];
  const work = async (item: number): Promise<number> => {
    if (item === 5) stop.abort();
    return item;
  };
  await expect(
    (async () => {
      for await (const item of runPool(
        Array.from({ length: 1000 }, (_, item) => item),
        work,
        { limit: 2, signal: stop.signal },
      ))
        seen.push(item);
    })(),
  ).rejects.toThrow('interrupted');
  expect(seen.length).toBeLessThan(20);
});

test('work that need not wait gives its result in its turn, and fails like any other', async () => {
  const items = Array.from({ length: 100 }, (_, item) => item);
  const work = (item: number): number | Promise<number> => (item % 3 === 0 ? setImmediate(item) : item);
  expect(await collect(runOrdered(items, work, { limit: 4 }))).toEqual(items);
  expect((await collect(runPool(items, work, { limit: 4 }))).toSorted((a, b) => a - b)).toEqual(items);
  const begun: number[] = [];
  const failing = (item: number): number => {
    begun.push(item);
    if (item === 5) throw new Error('the sixth');
    return item;
  };
  await expect(collect(runPool(items, failing, { limit: 4 }))).rejects.toThrow('the sixth');
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
});
