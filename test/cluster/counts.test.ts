import { afterAll, beforeAll, expect, test } from 'vitest';
import { foldCounts } from '../../src/server/store/counts.ts';
import type { Store } from '../../src/server/store/store.ts';
import { createSharedPlace, type SharedPlace } from '../support/cluster-database.ts';
import { findDamage } from '../support/find-damage.ts';
import { createTestService, type TestService } from '../support/service.ts';

/** Numbers of entries as changes: what is read is right whether they are folded, not folded yet, or being folded. */

let service: TestService;
let store: Store;
let place: SharedPlace;

beforeAll(async () => {
  place = await createSharedPlace();
  service = await createTestService({ open: place.open });
  store = await place.open();
});
afterAll(async () => {
  await store.close();
  await service.close();
  await place.remove();
});

const body = Buffer.from('x');
const directory = { headers: { 'content-type': 'application/json; type=directory' } };

async function askSize(path: string): Promise<string | undefined> {
  return (await service.storage('GET', path)).headers['result-set-size'];
}

/** What the row of a directory in /demo/stor counts, and how many changes there are beside it. */
async function readRow(name: string): Promise<[number | undefined, number]> {
  const row = await store.db
    .selectFrom('entries')
    .select('children')
    .where('parent', '=', '/demo/stor')
    .where('name', '=', name)
    .executeTakeFirst();
  const changes = await store.db
    .selectFrom('count_changes')
    .select('change')
    .where('parent', '=', '/demo/stor')
    .where('name', '=', name)
    .execute();
  return [row?.children, changes.length];
}

test('the number of entries is the same before and after changes are folded', async () => {
  await service.storage('PUT', '/demo/stor/folded', directory);
  for (const name of ['a', 'b', 'c']) await service.storage('PUT', `/demo/stor/folded/${name}`, { body });
  await service.storage('DELETE', '/demo/stor/folded/b');
  expect(await readRow('folded')).toEqual([0, 4]);
  expect(await askSize('/demo/stor/folded')).toBe('2');
  await foldCounts(store.db);
  expect(await readRow('folded')).toEqual([2, 0]);
  expect(await askSize('/demo/stor/folded')).toBe('2');
  expect((await store.db.selectFrom('count_changes').select('change').execute()).length).toBe(0);
  const refused = await service.storage('DELETE', '/demo/stor/folded');
  expect([refused.status, refused.code, refused.text]).toEqual([400, 'DirectoryNotEmpty', expect.stringContaining('has 2 entries')]);
});

test('a directory that is made again begins at nothing, though the one before had changes that were not folded', async () => {
  const path = '/demo/stor/again';
  await service.storage('PUT', path, directory);
  for (const name of ['a', 'b']) await service.storage('PUT', `${path}/${name}`, { body });
  await foldCounts(store.db);
  for (const name of ['a', 'b']) await service.storage('DELETE', `${path}/${name}`);
  expect((await service.storage('DELETE', path)).status).toBe(204);
  await service.storage('PUT', path, directory);
  expect([await askSize(path), ...(await readRow('again'))]).toEqual(['0', 0, 0]);
});

test('a page that is read while changes are folded has the right number', async () => {
  const path = '/demo/stor/read';
  await service.storage('PUT', path, directory);
  const end = new AbortController();
  const fold = async (): Promise<void> => {
    while (!end.signal.aborted) await foldCounts(store.db);
  };
  const folding = [fold(), fold()];
  try {
    for (let count = 1; count <= 60; count += 1) {
      await service.storage('PUT', `${path}/${count}`, { body });
      expect(await Promise.all([askSize(path), askSize(path), askSize(path)])).toEqual([`${count}`, `${count}`, `${count}`]);
    }
  } finally {
    end.abort();
    await Promise.all(folding);
  }
  await foldCounts(store.db);
  expect(await readRow('read')).toEqual([60, 0]);
  expect(await findDamage(store)).toEqual([]);
});

test('the limit of entries counts changes that are not folded, also of writers at the same time', async () => {
  const path = '/demo/stor/full';
  await service.storage('PUT', path, directory);
  // Ten fewer than the limit, of which the row counts a part.
  await store.db.updateTable('entries').set({ children: 950_000 }).where('parent', '=', '/demo/stor').where('name', '=', 'full').execute();
  await store.db.insertInto('count_changes').values({ parent: '/demo/stor', name: 'full', change: 49_990 }).execute();
  const put = (name: string): Promise<number> => service.storage('PUT', `${path}/${name}`, { body }).then(({ status }) => status);
  const statuses = await Promise.all(Array.from({ length: 24 }, (_, index) => put(`new${index}`)));
  expect(statuses.toSorted((a, b) => a - b)).toEqual([...Array.from({ length: 10 }, () => 204), ...Array.from({ length: 14 }, () => 409)]);
  const refused = await service.storage('PUT', `${path}/more`, { body });
  expect([refused.code, refused.text]).toEqual(['DirectoryLimitExceeded', expect.stringContaining('has 1000000 entries')]);
  // What is there can be replaced, and what goes makes room.
  const made = (await service.storage('GET', path)).text
    .split('\n')
    .flatMap((line) => /"name":"(\w+)"/u.exec(line.replaceAll(' ', ''))?.[1] ?? []);
  expect(await put(made[0] ?? '')).toBe(204);
  expect((await service.storage('DELETE', `${path}/${made[1]}`)).status).toBe(204);
  expect(await put('more')).toBe(204);
});
