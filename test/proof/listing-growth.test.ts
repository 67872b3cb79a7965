import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestStorage, type TestStorage } from '../contract/storage/harness.ts';

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
});
afterAll(() => service.close());

test('a page of a directory of 200,000 entries takes about as long as one of ten', async () => {
  for (const [name, count] of [
    ['few', 10],
    ['many', 200_000],
  ] as const) {
    const parent = `/demo/stor/${name}`;
    await service.mkdir(parent);
    await sql`
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      insert into entries (parent, name, type, mtime, headers, role_tags, children)
      select ${parent}, printf('%07d', i), iif(i % 1000 = 0, 'object', 'directory'), i * 7919 % 200003, '{}', '[]', 0 from n
    `.execute(service.store.db);
    await service.store.db
      .updateTable('entries')
      .set({ children: count })
      .where('parent', '=', '/demo/stor')
      .where('name', '=', name)
      .execute();
  }
  const measure = async (target: string): Promise<number> => {
    const durations: number[] = [];
    for (let round = 0; round < 15; round += 1) {
      const started = performance.now();
      await service.ask('GET', target);
      durations.push(performance.now() - started);
    }
    return durations.sort((left, right) => left - right)[7] ?? Infinity;
  };
  const few = await measure('/demo/stor/few?limit=10');
  const slow: string[] = [];
  for (const query of ['', '&marker=0100000', '&sort=mtime', '&sort=mtime&marker=0100000', '&dir', '&obj', '&sort_order=reverse']) {
    if ((await measure(`/demo/stor/many?limit=10${query}`)) > few * 3 + 1) slow.push(query);
  }
  expect(slow).toEqual([]);
});
