import { comparePaths } from '../order.ts';
import type { Known } from './memory.ts';
import type { Item } from './tree.ts';

/** The same path on both sides, and what an earlier run found out about it. */
export interface Pair {
  readonly rel: string;
  readonly from: Item | undefined;
  readonly to: Item | undefined;
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

/** Brings two sorted sides, and the memory of an earlier run, together as streams: nothing is held but the heads. */
export async function* mergeSides(from: AsyncIterable<Item>, to: AsyncIterable<Item>, memory: AsyncIterable<Known>): AsyncGenerator<Pair> {
  const [left, right, known] = [await createReader(from), await createReader(to), await createReader(memory)];
  for (;;) {
    const [a, b] = [left.head, right.head];
    if (a === undefined && b === undefined) return;
    const rel = a !== undefined && (b === undefined || comparePaths(a.rel, b.rel) <= 0) ? a.rel : (b?.rel ?? '');
    const pair = { rel, from: await take(left, rel), to: await take(right, rel) };
    yield { ...pair, known: await take(known, rel) };
  }
}
