import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readUsage } from '../../../src/server/store/usage.ts';
import { runsOnPostgres } from '../../support/cluster-database.ts';
import { findDamage } from '../../support/find-damage.ts';
import { chunked, createTestStorage, directory, link, type TestStorage } from './harness.ts';
import { commit, create, putParts } from './upload-steps.ts';

/** What an account uses, and the most that it may, through every operation that changes it. */

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
});
afterAll(() => service.close());

const KiB = 1024;
const MiB = KiB * KiB;
const refused = [507, 'NotEnoughSpace'];

function setQuota(bytes: number | null, objects: number | null = null, to: TestStorage = service): Promise<unknown> {
  return to.store.write((transaction) =>
    transaction.updateTable('accounts').set({ most_bytes: bytes, most_objects: objects }).where('login', '=', 'demo').execute(),
  );
}

/** Bytes and objects that work adds to what the account uses. */
async function changeOf(work: () => Promise<unknown>): Promise<[bytes: number, objects: number]> {
  const before = await readUsage(service.store.db, 'demo');
  await work();
  const after = await readUsage(service.store.db, 'demo');
  return [after.bytes - before.bytes, after.objects - before.objects];
}

test('what an account uses is the sizes of its objects and links, and of parts until they are committed or given up', async () => {
  expect(await readUsage(service.store.db, 'demo')).toEqual({ bytes: 0, objects: 0 });
  expect(await changeOf(() => service.put('/demo/stor/a', 'x'.repeat(100)))).toEqual([100, 1]);
  expect(await changeOf(() => service.put('/demo/stor/a', 'x'.repeat(40)))).toEqual([-60, 0]);
  expect(await changeOf(() => service.put('/demo/stor/large', Buffer.alloc(100_000)))).toEqual([100_000, 1]);
  expect(await changeOf(() => service.put('/demo/stor/link', undefined, link('/demo/stor/large')))).toEqual([100_000, 1]);
  expect(await changeOf(() => service.ask('DELETE', '/demo/stor/large'))).toEqual([-100_000, -1]);
  expect(await changeOf(() => service.mkdir('/demo/stor/uploads'))).toEqual([0, 0]);
  expect(await changeOf(() => service.put('/demo/stor/uploads/in', 'four'))).toEqual([4, 1]);
  expect(await changeOf(() => service.put('/demo/stor/uploads/in', undefined, directory))).toEqual([-4, -1]);
  expect(await changeOf(() => service.put('/demo/stor/a?metadata=true', undefined, { 'm-color': 'red' }))).toEqual([0, 0]);
  const upload = await create(service, '/demo/stor/many');
  let etags: string[] = [];
  expect(
    await changeOf(async () => {
      etags = await putParts(service, upload, Buffer.alloc(5 * MiB), 'end');
    }),
  ).toEqual([5 * MiB + 3, 0]);
  expect(await changeOf(() => service.put(`${upload.partsDirectory}/1`, 'the end'))).toEqual([4, 0]);
  etags[1] = (await service.ask('HEAD', `${upload.partsDirectory}/1`)).headers['etag'] ?? '';
  expect(await changeOf(() => commit(service, upload, etags))).toEqual([0, 1]);
  const given = await create(service, '/demo/stor/none');
  expect(await changeOf(() => putParts(service, given, 'part'))).toEqual([4, 0]);
  expect(await changeOf(() => service.ask('POST', `${given.partsDirectory}/abort`))).toEqual([-4, 0]);
  // Of a request that is refused nothing is counted.
  expect(await changeOf(() => service.ask('PUT', '/demo/stor/a', { body: 'new', headers: { 'if-match': 'other' } }))).toEqual([0, 0]);
  expect(await readUsage(service.store.db, 'other')).toEqual({ bytes: 0, objects: 0 });
  expect(await findDamage(service.store)).toEqual([]);
});

test('an account that is full is refused what would make it grow, and nothing of it is kept', async () => {
  await service.put('/demo/stor/full', 'x'.repeat(1000));
  const { bytes } = await readUsage(service.store.db, 'demo');
  await setQuota(bytes + 10);
  const contents = await service.countContents();
  expect(await service.answerOf('PUT', '/demo/stor/new', { body: 'x'.repeat(11) })).toEqual(refused);
  expect(await service.answerOf('PUT', '/demo/stor/full', { body: 'x'.repeat(1011) })).toEqual(refused);
  expect(await service.answerOf('PUT', '/demo/stor/linked', { headers: link('/demo/stor/full') })).toEqual(refused);
  // Of a length that is known, before the body is asked for.
  expect(await service.refusalOf('/demo/stor/new', { 'content-length': String(2 * MiB) })).toEqual(refused);
  const upload = await create(service, '/demo/stor/parts');
  expect(await service.answerOf('PUT', `${upload.partsDirectory}/0`, { body: 'x'.repeat(11) })).toEqual(refused);
  const { text } = await service.ask('PUT', '/demo/stor/new', { body: 'x'.repeat(11) });
  expect(text).toContain(`account demo may store ${bytes + 10} bytes: it uses ${bytes}, so 11 more do not fit (limit account-bytes)`);
  expect(await service.countContents()).toBe(contents);
  expect(await changeOf(() => service.put('/demo/stor/new', 'x'.repeat(10)))).toEqual([10, 1]);
  // What makes it smaller is never refused, however full it is.
  await setQuota(5);
  expect(await service.answerOf('PUT', '/demo/stor/new', { body: 'x' })).toEqual([204, undefined]);
  expect(await service.answerOf('PUT', '/demo/stor/new', { body: 'y' })).toEqual([204, undefined]);
  expect(await service.answerOf('GET', '/demo/stor/new')).toEqual([200, undefined]);
  expect(await service.answerOf('DELETE', '/demo/stor/new')).toEqual([204, undefined]);
  await setQuota(null);
  expect(await service.answerOf('PUT', '/demo/stor/new', { body: 'x'.repeat(11) })).toEqual([204, undefined]);
});

test('a quota of objects refuses the one more, a commit too, whose parts then stay for the next try', async () => {
  const upload = await create(service, '/demo/stor/last');
  const etags = await putParts(service, upload, 'only');
  const { objects } = await readUsage(service.store.db, 'demo');
  await setQuota(null, objects);
  expect(await service.answerOf('PUT', '/demo/stor/another', { body: '' })).toEqual(refused);
  expect(await service.answerOf('PUT', '/demo/stor/another', { headers: directory })).toEqual([204, undefined]);
  expect((await commit(service, upload, etags)).code).toBe('NotEnoughSpace');
  await setQuota(null, objects + 1);
  expect((await commit(service, upload, etags)).status).toBe(201);
  expect((await commit(service, upload, etags)).status).toBe(201);
  await setQuota(null);
});

test('the limit of the service holds for accounts without one of their own, and writers at once do not pass it on one engine', async () => {
  const small = await createTestStorage({ settings: { serviceLimits: { accountBytes: 100, accountObjects: 5 } } });
  try {
    const put = async (index: number): Promise<number> => (await small.ask('PUT', `/demo/stor/${index}`, { body: 'x'.repeat(20) })).status;
    const statuses = await Promise.all(Array.from({ length: 12 }, (_, index) => put(index)));
    const { bytes } = await readUsage(small.store.db, 'demo');
    expect(statuses.filter((status) => status === 507).length).toBe(12 - bytes / 20);
    expect(await put(20)).toBe(507);
    await setQuota(1000, 1000, small);
    expect(await put(20)).toBe(204);
    expect(await findDamage(small.store)).toEqual([]);
  } finally {
    await small.close();
  }
});

test.skipIf(runsOnPostgres())('contents leave 8 MiB of the disk free, with which objects can still be deleted', async () => {
  const other = await createTestStorage();
  let disk = 10 * MiB;
  const stored = async (): Promise<number> => (await readUsage(other.store.db, 'demo')).bytes;
  const measured = vi.spyOn(other.store.bytes, 'measureFree').mockImplementation(async () => disk - (await stored()));
  const put = async (name: string, size: number): Promise<number> =>
    (await other.ask('PUT', `/demo/stor/${name}`, { body: Buffer.alloc(size) })).status;
  const statuses: number[] = [];
  for (let number = 0; number < 30; number += 1) statuses.push(await put(`o${number}`, 100 * KiB));
  expect(statuses).toEqual([...Array<number>(20).fill(204), ...Array<number>(10).fill(507)]);
  expect(measured.mock.calls.length).toBeLessThan(20);
  let small = 0;
  while ((await put(`small${small}`, 1000)) === 204) small += 1;
  expect(await stored()).toBeLessThanOrEqual(disk - 8 * MiB);

  disk -= MiB;
  for (const body of [Buffer.alloc(1000), chunked('x')])
    expect(await other.answerOf('PUT', '/demo/stor/another', { body })).toEqual(refused);
  for (let number = 0; number < 5; number += 1) expect((await other.ask('DELETE', `/demo/stor/o${number}`)).status).toBe(204);
  disk += MiB;
  expect((await other.ask('PUT', '/demo/stor/another', { body: chunked('x') })).status).toBe(204);

  // Small contents are rows: deleting them makes room in the file of the database.
  for (let number = 0; number < 20; number += 1) expect(await put(`row${number}`, 8000)).toBe(204);
  disk -= MiB;
  while ((await put('row', 8000)) === 204);
  for (let number = 0; number < 20; number += 1) await other.ask('DELETE', `/demo/stor/row${number}`);
  expect([await put('row', 8000), await put('file', 20 * KiB)]).toEqual([204, 507]);
  await other.close();
});
