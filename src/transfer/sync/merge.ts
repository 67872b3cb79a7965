import { NetworkError } from '../../base/errors.ts';
import { comparePaths } from '../../base/order.ts';
import type { Known } from './memory.ts';
import type { Item } from './tree.ts';

/** The same path on both sides, and what an earlier run found out about it. */
export interface Pair<B extends Item = Item> {
  readonly rel: string;
  readonly from: Item | undefined;
  readonly to: B | undefined;
  readonly known: Known | undefined;
}

/** A stream of which the next element can be looked at. */
interface Reader<T> {
  readonly head: T | undefined;
  advance(): Promise<void>;
}

async function createReader<T>(source: AsyncIterable<T>): Promise<Reader<T>> {
  const iterator = source[Symbol.asyncIterator]();
  let head: T | undefined;
  async function advance(): Promise<void> {
    const next = await iterator.next();
    head = next.done === true ? undefined : next.value;
  }
  await advance();
  return {
    get head() {
      return head;
    },
    advance,
  };
}

async function take<T extends { readonly rel: string }>(reader: Reader<T>, rel: string): Promise<T | undefined> {
  while (reader.head !== undefined && comparePaths(reader.head.rel, rel) < 0) await reader.advance();
  const { head } = reader;
  if (head === undefined || head.rel !== rel) return undefined;
  await reader.advance();
  return head;
}

/**
 * The same items. @throws {NetworkError} for one that is not after the one before it: what is compared in another order seems to be missing, and
 * would be removed
 */
async function* checkOrder<T extends Item>(items: AsyncIterable<T>): AsyncGenerator<T> {
  let last: string | undefined;
  for await (const item of items) {
    if (last !== undefined && comparePaths(last, item.rel) >= 0)
      throw new NetworkError(`the listing is not in the order of names: ${item.rel} comes after ${last}`, { code: 'UnreadableReply' });
    last = item.rel;
    yield item;
  }
}

/** Brings two sorted sides, and the memory of an earlier run, together as streams: nothing is held but the heads. */
export async function* mergeSides<B extends Item>(
  from: AsyncIterable<Item>,
  to: AsyncIterable<B>,
  memory: AsyncIterable<Known>,
): AsyncGenerator<Pair<B>> {
  const [left, right, known] = [await createReader(checkOrder(from)), await createReader(checkOrder(to)), await createReader(memory)];
  for (;;) {
    const [a, b] = [left.head, right.head];
    if (a === undefined && b === undefined) return;
    const rel = a !== undefined && (b === undefined || comparePaths(a.rel, b.rel) <= 0) ? a.rel : (b?.rel ?? '');
    const pair = { rel, from: await take(left, rel), to: await take(right, rel) };
    yield { ...pair, known: await take(known, rel) };
  }
}
