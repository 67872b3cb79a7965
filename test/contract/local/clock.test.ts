import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createClock } from '../../../src/server/clock.ts';
import { changeClock } from '../../../src/server/control/clock.ts';
import { runsOnPostgres } from '../../support/cluster-database.ts';
import { addUser, createRsaKey, createTestService, signAs, signUrl, type TestService } from '../../support/service.ts';

/** The clock of the services is set while they run. The machine stands still, so that every time is exact. */

const machine = Date.parse('2026-03-02T10:00:00Z');
const clock = createClock(() => machine);
const minute = 60_000;
const date = new Date(machine).toUTCString();
let service: TestService;

beforeAll(async () => {
  const settings = { staleness: 5 * minute, imageTime: 10 * minute, serviceLimits: { uploadDays: 3, finishedUploadDays: 1 } };
  service = await createTestService({ now: clock.now, requestTime: clock.requestTime, settings });
});
afterAll(() => service.close());
afterEach(() => clock.reset());

describe('advance', () => {
  test('a signed URL expires, and requests with the date of the machine go on', async () => {
    expect((await service.storage('PUT', '/demo/stor/x', { body: Buffer.from('x'), signing: { date } })).status).toBe(204);
    const signer = { ...signAs('storage', service.key, 'demo'), expires: machine / 1000 + 600 };
    const url = signUrl('storage', signer, '/demo/stor/x');
    const read = () => service.storage('GET', url, { signing: false });
    changeClock(clock, { advance: 10 * minute });
    expect((await read()).status).toBe(200);
    changeClock(clock, { advance: 1000 });
    expect(await read()).toMatchObject({ status: 403, code: 'InvalidQueryStringAuthentication' });
    expect((await service.storage('GET', '/demo/stor/x', { signing: { date } })).status).toBe(200);
  });

  test('timestamps follow; the date of responses is of the clock that dates of requests are compared with', async () => {
    changeClock(clock, { set: '2027-02-28T23:59:50Z' });
    const put = await service.storage('PUT', '/demo/stor/y', { body: Buffer.from('y'), signing: { date } });
    expect([put.status, put.headers['date']]).toEqual([204, date]);
    const { headers } = await service.storage('GET', '/demo/stor/y', { signing: { date } });
    expect(headers['last-modified']).toBe('Sun, 28 Feb 2027 23:59:50 GMT');
  });

  test('an image is ready when its time has passed', async () => {
    const json = { machine: '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001', name: 'web', version: '1' };
    const made = await service.compute('POST', '/my/images', { json, signing: { date } });
    const { id } = made.json as { id: string };
    const readState = async () =>
      ((await service.compute('GET', `/my/images/${id}`, { signing: { date } })).json as { state: string }).state;
    expect([made.status, await readState()]).toEqual([201, 'creating']);
    changeClock(clock, { advance: 10 * minute - 1 });
    expect(await readState()).toBe('creating');
    changeClock(clock, { advance: 1 });
    expect(await readState()).toBe('active');
  });

  // With several gateways the clock of the database decides, see `lifetimes.test.ts` of clusters.
  test.skipIf(runsOnPostgres())('an upload that nobody ends is given up, and its parts are gone', async () => {
    const signing = { date };
    const made = await service.storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/late' }, signing });
    const { partsDirectory } = made.json as { partsDirectory: string };
    const send = (method: string, path: string, body?: Buffer) => service.storage(method, path, { signing, ...(body && { body }) });
    const readState = async () => ((await send('GET', `${partsDirectory}/state`)).json as { state: string }).state;
    expect([made.status, (await send('PUT', `${partsDirectory}/0`, Buffer.alloc(20_000))).status, await readState()]).toEqual([
      201,
      204,
      'created',
    ]);
    const limit = 3 * 24 * 60 * minute;
    changeClock(clock, { advance: limit });
    expect((await send('PUT', `${partsDirectory}/1`, Buffer.from('x'))).status).toBe(204);
    // The age counts from the last part.
    changeClock(clock, { advance: limit });
    expect(await readState()).toBe('created');
    changeClock(clock, { advance: 1 });
    expect(await send('PUT', `${partsDirectory}/2`, Buffer.from('x'))).toMatchObject({ status: 409, code: 'InvalidMultipartUploadState' });
    expect((await send('GET', `${partsDirectory}/state`)).json).toMatchObject({ state: 'done', result: 'aborted' });
    expect((await send('GET', partsDirectory)).status).toBe(404);
    expect((await service.store.db.selectFrom('entries').select('name').where('parent', '=', partsDirectory).execute()).length).toBe(0);
  });

  test.skipIf(runsOnPostgres())(
    'a finished upload can be repeated for its time, and is forgotten when the next one is created',
    async () => {
      const signing = { date };
      const send = (path: string, json?: unknown) =>
        service.storage(json === undefined ? 'GET' : 'POST', path, { signing, ...(json !== undefined && { json }) });
      const create = async (objectPath: string) =>
        ((await send('/demo/uploads', { objectPath })).json as { partsDirectory: string }).partsDirectory;
      const committed = await create('/demo/stor/whole');
      const aborted = await create('/demo/stor/none');
      changeClock(clock, { advance: 24 * 60 * minute });
      const open = await create('/demo/stor/open');
      const end = async () => [
        (await send(`${committed}/commit`, { parts: [] })).status,
        (await service.storage('POST', `${aborted}/abort`, { signing })).status,
      ];
      expect(await end()).toEqual([201, 204]);
      changeClock(clock, { advance: 24 * 60 * minute });
      await create('/demo/stor/next');
      expect(await end()).toEqual([201, 204]);
      changeClock(clock, { advance: 1 });
      await create('/demo/stor/last');
      expect(await end()).toEqual([404, 404]);
      expect([(await send(`${open}/state`)).json, (await send('/demo/stor/whole')).status]).toMatchObject([{ state: 'created' }, 200]);
      expect(
        await service.store.db.selectFrom('uploads').select('id').where('state', '=', 'done').where('ended', '<', clock.now()).execute(),
      ).toHaveLength(0);
    },
  );

  test('reads that lag catch up', async () => {
    const list = async () => (await service.compute('GET', '/my/policies', { signing: { date } })).json;
    await service.compute('POST', '/my/policies', { json: { name: 'late', rules: ['CAN ping'] }, signing: { date } });
    expect(await list()).toEqual([]);
    changeClock(clock, { advance: 5 * minute });
    expect(await list()).toMatchObject([{ name: 'late' }]);
  });

  test('rules look at the time of the service', async () => {
    const key = createRsaKey();
    await addUser(service.store, service.account, 'bob', key);
    const json = { name: 'evening', rules: ['CAN listkeys WHEN requesttime::time >= 18:00:00'] };
    await service.compute('POST', '/my/policies', { json, signing: { date } });
    const role = { name: 'evening', policies: [{ name: 'evening' }], members: [{ type: 'subuser', login: 'bob', default: true }] };
    expect((await service.compute('POST', '/my/roles', { json: role, signing: { date } })).status).toBe(201);
    const tagged = await service.compute('PUT', '/my/keys', { json: { 'role-tag': ['evening'] }, signing: { date } });
    expect(tagged.status).toBe(200);
    const ask = async () =>
      (await service.compute('GET', '/demo/keys', { signing: { ...signAs('compute', key, 'demo', 'bob'), date } })).status;
    expect(await ask()).toBe(403);
    changeClock(clock, { advance: 8 * 60 * minute });
    expect(await ask()).toBe(200);
    changeClock(clock, { reset: true });
    expect(await ask()).toBe(403);
  });
});

describe('skew', () => {
  test.each([1, -1])('requests are refused from 301 seconds on (%d)', async (side) => {
    const ask = async () => {
      const [compute, storage] = [
        await service.compute('GET', '/my/keys', { signing: { date } }),
        await service.storage('GET', '/demo/stor', { signing: { date } }),
      ];
      return [compute.status, compute.code, storage.status, storage.code];
    };
    changeClock(clock, { skew: side * 300_000 });
    expect(await ask()).toEqual([200, undefined, 200, undefined]);
    changeClock(clock, { skew: side * 301_000 });
    expect(await ask()).toEqual([401, 'InvalidCredentials', 400, 'InvalidHeader']);
    const { headers } = await service.compute('GET', '/my/keys', { signing: { date } });
    expect(Date.parse(headers['date'] ?? '')).toBe(machine + side * 301_000);
    expect(clock.now()).toBe(machine);
  });
});

describe('what is refused', () => {
  test.each([
    [{ set: 'tomorrow' }, 'not a time'],
    [{ set: '2026-02-30' }, 'not a time'],
    [{ set: '1969-12-31' }, 'between the years 1970 and 9999'],
    [{ advance: 1e15 }, 'between the years 1970 and 9999'],
    [{ skew: -1e15 }, 'between the years 1970 and 9999'],
    [{ advance: 1, reset: true }, 'one change'],
  ])('%j', (input, words) => {
    expect(() => changeClock(clock, input)).toThrow(words);
    expect(changeClock(clock, {})).toEqual({ time: '2026-03-02T10:00:00.000Z', offset: 0, skew: 0 });
  });

  test.each([
    ['2027-01-01', '2027-01-01T00:00:00.000Z'],
    ['2027-01-01 12:30', '2027-01-01T12:30:00.000Z'],
    ['2027-01-01T12:30:00+02:00', '2027-01-01T10:30:00.000Z'],
  ])('a time is taken as %s', (set, time) => {
    expect(changeClock(clock, { set }).time).toBe(time);
  });
});
