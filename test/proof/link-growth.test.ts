import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findReferenced } from '../../src/server/storage/garbage.ts';
import { createTestStorage, link, type TestStorage } from '../contract/storage/harness.ts';

/** Whatever the number of links to a content, changing one of them costs what changing an object costs. */

const count = 100_000;
const sample = 200;
let service: TestStorage;

/** Adds copies of an object's row: with its content, as links have it, or each with a content of its own. */
async function addRows(parent: string, content: string): Promise<void> {
  await service.mkdir(parent);
  await sql`
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    insert into entries (parent, name, type, etag, mtime, size, md5, content, copies, headers, role_tags, children)
    select ${parent}, printf('%06d', i), 'object', etag, mtime, size, md5, replace(${content}, '#', i), copies, headers, role_tags, 0
    from n, entries where parent = '/demo/stor' and name = 'source'
  `.execute(service.store.db);
  const name = parent.split('/').at(-1) ?? '';
  await service.store.db.updateTable('entries').set({ children: count }).where('name', '=', name).execute();
}

beforeAll(async () => {
  service = await createTestStorage();
  await service.put('/demo/stor/source', 'x');
  const { content } = await service.store.db.selectFrom('entries').select('content').where('name', '=', 'source').executeTakeFirstOrThrow();
  await addRows('/demo/stor/links', content ?? '');
  await addRows('/demo/stor/objects', 'content-#');
}, 60_000);
afterAll(() => service.close());

/** Medians of the milliseconds that a change of a link and of an object take, measured by turns. */
async function measure(change: (target: string) => Promise<unknown>, from: number): Promise<{ links: number; objects: number }> {
  const durations = { links: [] as number[], objects: [] as number[] };
  for (let number = from; number < from + sample; number += 1) {
    for (const kind of ['links', 'objects'] as const) {
      const started = performance.now();
      await change(`/demo/stor/${kind}/${String(number).padStart(6, '0')}`);
      durations[kind].push(performance.now() - started);
    }
  }
  const median = (values: number[]): number => values.toSorted((left, right) => left - right)[sample / 2] ?? Infinity;
  return { links: median(durations.links), objects: median(durations.objects) };
}

test.each([
  ['deleting', 1000, (target: string) => service.ask('DELETE', target)],
  ['overwriting', 2000, (target: string) => service.ask('PUT', target, { body: 'y' })],
  ['linking over', 3000, (target: string) => service.ask('PUT', target, { headers: link('/demo/stor/source') })],
] as const)('%s one of 100,000 links costs at most 1.5 times what it costs with objects', { timeout: 60_000 }, async (_, from, change) => {
  const { links, objects } = await measure(change, from);
  expect(links).toBeLessThan(objects * 1.5 + 0.5);
});

test('the collection asks for a content with 100,000 links as quickly as for any other', async () => {
  const { content } = await service.store.db.selectFrom('entries').select('content').where('name', '=', 'source').executeTakeFirstOrThrow();
  const ids = Array.from({ length: 100 }, () => content ?? '');
  const started = performance.now();
  for (let round = 0; round < 20; round += 1) expect((await findReferenced(service.store.db, ids)).size).toBe(1);
  expect(performance.now() - started).toBeLessThan(2000);
});
