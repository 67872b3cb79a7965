import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StorageClient } from '../../../src/client/client.ts';
import { NetworkError } from '../../../src/base/errors.ts';
import { listEntries } from '../../../src/transfer/tree/list.ts';
import type { Engine } from '../../../src/transfer/engine.ts';
import { mergeSides } from '../../../src/transfer/sync/merge.ts';
import { runSteps, type PlanRun } from '../../../src/transfer/sync/run-steps.ts';
import type { Step } from '../../../src/transfer/sync/steps.ts';
import { ListingCount } from '../../../src/transfer/tree/listing-check.ts';
import type { Item } from '../../../src/transfer/sync/tree.ts';

async function* give<T>(...values: T[]): AsyncGenerator<T> {
  yield* values;
}

async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all = [];
  for await (const value of values) all.push(value);
  return all;
}

function items(...names: string[]): AsyncGenerator<Item> {
  return give(...names.map((rel) => ({ rel, kind: 'file' as const, size: 1, state: undefined, mode: 0, etag: rel, md5: undefined })));
}

test('sides in another order than that of names are not compared: what is on both would seem to be on one, and be removed', async () => {
  const pairs = await collect(mergeSides(items('a', 'b'), items('b', 'c'), []));
  expect(pairs.map(({ rel, from, to }) => [rel, from?.rel, to?.rel])).toEqual([
    ['a', 'a', undefined],
    ['b', 'b', 'b'],
    ['c', undefined, 'c'],
  ]);
  const wrong = [mergeSides(items('a', 'b'), items('b', 'a'), []), mergeSides(items('a', 'a'), items('a'), [])];
  for (const sides of wrong) await expect(collect(sides)).rejects.toThrow(NetworkError);
});

/** Items of a side, and whether their reading has ended. */
function watch<T>(values: AsyncIterable<T>): { values: AsyncGenerator<T>; isClosed: () => boolean } {
  let isClosed = false;
  async function* read(): AsyncGenerator<T> {
    try {
      yield* values;
    } finally {
      isClosed = true;
    }
  }
  return { values: read(), isClosed: () => isClosed };
}

test('both sides are closed when their comparison ends early, by its reader or by an error', async () => {
  const sides = [watch(items('a', 'b')), watch(items('b', 'c'))] as const;
  for await (const _ of mergeSides(sides[0].values, sides[1].values, [])) break;
  expect(sides.map(({ isClosed }) => isClosed())).toEqual([true, true]);
  const wrong = [watch(items('a', 'a')), watch(items('a', 'b'))] as const;
  await expect(collect(mergeSides(wrong[0].values, wrong[1].values, []))).rejects.toThrow(NetworkError);
  expect(wrong.map(({ isClosed }) => isClosed())).toEqual([true, true]);
});

test('the steps of a plan are closed when its execution ends early', async () => {
  const step: Step = { action: 'rmdir', rel: 'x', to: { kind: 'local', file: '/none/x' }, reason: 'extra' };
  const steps = watch(give(step, { ...step, rel: 'y' }));
  const report = { attempt: (_: string, work: () => Promise<unknown>) => work() } as unknown as PlanRun['report'];
  const run = { from: { kind: 'local', root: '/none' }, copy: {}, report, assert: () => undefined, memory: undefined, id: '' };
  const engine = { parallel: 1 } as unknown as Engine;
  for await (const _ of runSteps(engine, steps.values, run as unknown as PlanRun)) break;
  expect(steps.isClosed()).toBe(true);
});

test('a directory that is not empty stays, and is not among the executed steps of a plan', async () => {
  const root = mkdtempSync(join(tmpdir(), 'cloud-plan-'));
  for (const path of ['empty', 'full/new']) mkdirSync(join(root, path), { recursive: true });
  const steps = ['empty', 'full', 'gone'].map((rel): Step => ({
    action: 'rmdir',
    rel,
    to: { kind: 'local', file: join(root, rel) },
    reason: 'extra',
  }));
  const report = { attempt: (_: string, work: () => Promise<unknown>) => work() } as unknown as PlanRun['report'];
  const run = { from: { kind: 'local', root }, copy: {}, report, assert: () => undefined, memory: undefined, id: '' };
  const done = await collect(runSteps({ parallel: 1 } as unknown as Engine, give(...steps), run as unknown as PlanRun));
  expect([done.map(({ rel }) => rel), readdirSync(root)]).toEqual([['empty', 'gone'], ['full']]);
  rmSync(root, { recursive: true });
});

test('what an earlier run knew comes with its path, and what it knew of paths that are gone is passed over', async () => {
  const known = ['a', 'b/c', 'b/d', 'e'].map((rel) => ({ rel, etag: rel, mtime: 1n }));
  const pairs = await collect(mergeSides(items('b', 'b/d', 'b.x'), items('b/d', 'c', 'e'), known));
  expect(pairs.map(({ rel, from, to, known: found }) => [rel, from?.rel, to?.rel, found?.rel])).toEqual([
    ['b', 'b', undefined, undefined],
    ['b/d', 'b/d', 'b/d', 'b/d'],
    ['b.x', 'b.x', undefined, undefined],
    ['c', undefined, 'c', undefined],
    ['e', undefined, 'e', 'e'],
  ]);
});

const isListing = { 'content-type': 'application/x-json-stream; type=directory' };

test('an object in the place of a directory is no listing, whatever its content, and is not read', async () => {
  for (const content of [[], [{ name: 'a', type: 'directory', mtime: '' }]]) {
    const body = watch(give(...content));
    const listDirectory = () => Promise.resolve({ headers: { 'content-type': 'application/json' }, records: body.values });
    const listing = listEntries({ listDirectory } as unknown as StorageClient, { account: 'demo', path: 'stor/x' });
    await expect(collect(listing)).rejects.toThrow('/demo/stor/x is an object, not a directory');
    expect(body.isClosed()).toBe(true);
  }
});

test('a listing that begins anew whatever it is asked for comes to an end', async () => {
  const entries = ['a', 'b', 'c'].map((name) => ({ name, type: 'object', mtime: '', etag: name, size: 1 }));
  const listDirectory = () => Promise.resolve({ headers: isListing, records: give(...entries) });
  const listing = listEntries({ listDirectory } as unknown as StorageClient, { account: 'demo', path: 'stor' });
  await expect(collect(listing)).rejects.toThrow('repeats the same page');
});

test('the next page is asked for while the entries of one are used, and no page twice', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const asked: (string | undefined)[] = [];
  const listDirectory = ({ marker }: { marker?: string }) => {
    asked.push(marker);
    const start = marker === undefined ? 0 : names.indexOf(marker);
    const records = give(...names.slice(start, start + 2).map((name) => ({ name, type: 'object', mtime: '', etag: name, size: 1 })));
    return Promise.resolve({ headers: { ...isListing, 'result-set-size': '4' }, records });
  };
  const listing = listEntries({ listDirectory } as unknown as StorageClient, { account: 'demo', path: 'stor' });
  expect((await listing.next()).value?.name).toBe('a');
  expect(asked).toEqual([undefined, 'b']);
  expect((await collect(listing)).map(({ name }) => name)).toEqual(['b', 'c', 'd']);
  expect(asked).toEqual([undefined, 'b', 'c', 'd']);
});

test('a listing during which entries are created and removed is whole, and one that lacks more of them is not', () => {
  const entries = (...names: string[]) => names.map((name) => ({ name }));
  const count = new ListingCount();
  count.add(entries('a', 'b'), 6, 0);
  count.add(entries('c'), 4, 0);
  expect(count.isWhole).toBe(true);
  const short = new ListingCount();
  short.add(entries('a', 'b'), 5, 0);
  short.add(entries('c'), 5, 0);
  expect(short.isWhole).toBe(false);
});
