import { afterEach, describe, expect, test } from 'vitest';
import { createFaults } from '../../../src/server/faults/rules.ts';
import type { ServiceSettings } from '../../../src/server/settings.ts';
import { useQuickPasswords } from '../../support/quick-crypto.ts';
import { createTestService, type TestService } from '../../support/service.ts';

useQuickPasswords();

const services: TestService[] = [];
let time = Date.now();
async function start(settings: ServiceSettings): Promise<TestService> {
  const service = await createTestService({ now: () => time, settings });
  services.push(service);
  return service;
}
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
});

const missing = { status: 404, code: 'ResourceNotFound' };

describe('staleness', () => {
  test('reads lag behind writes, whose own answers are current', async () => {
    const { compute } = await start({ staleness: 3000 });
    const list = async (collection: string): Promise<string[]> => {
      const { json } = await compute('GET', `/my/${collection}`);
      return (json as { name?: string; login?: string }[]).map(({ name, login }) => name ?? login ?? '');
    };
    const made = await compute('POST', '/my/users', { json: { login: 'bob', email: 'a@b', password: 'secret1234' } });
    expect(made).toMatchObject({ status: 201, json: { login: 'bob' } });
    const location = made.headers['location'] ?? '';
    expect(await compute('GET', location)).toMatchObject(missing);
    expect(await compute('GET', '/my/users/bob')).toMatchObject(missing);
    const policy = await compute('POST', '/my/policies', { json: { name: 'p', rules: ['CAN ping'] } });
    // What writes refer to is current.
    const role = await compute('POST', '/my/roles', {
      json: { name: 'r', members: [{ type: 'subuser', login: 'bob' }], policies: [{ name: 'p' }] },
    });
    expect(role).toMatchObject({ status: 201, json: { members: [{ type: 'subuser', login: 'bob' }] } });
    expect([await list('users'), await list('roles'), await list('policies')]).toEqual([[], [], []]);
    time += 2999;
    expect(await compute('GET', location)).toMatchObject(missing);
    time += 1;
    expect([await list('users'), await list('roles'), await list('policies')]).toEqual([['bob'], ['r'], ['p']]);
    expect((await compute('GET', location)).json).toEqual(made.json);

    const [roleId, policyId] = [role, policy].map(({ json }) => (json as { id: string }).id);
    const renamed = await compute('POST', location, { json: { login: 'robert' } });
    expect(renamed).toMatchObject({ status: 200, json: { login: 'robert' } });
    time += 1000;
    await compute('POST', location, { json: { login: 'rob' } });
    await compute('POST', `/my/policies/${policyId ?? ''}`, { json: { name: 'q', rules: ['CAN getkey'] } });
    await compute('DELETE', `/my/roles/${roleId ?? ''}`);
    expect([await list('users'), await list('roles'), await list('policies')]).toEqual([['bob'], ['r'], ['p']]);
    expect((await compute('GET', '/my/users/bob?membership=true')).json).toMatchObject({ roles: ['r'] });
    expect((await compute('GET', `/my/policies/${policyId ?? ''}`)).json).toMatchObject({ name: 'p', rules: ['CAN ping'] });
    expect((await compute('GET', '/my/roles/r')).json).toEqual(role.json);
    expect(await compute('GET', '/my/policies/q')).toMatchObject(missing);
    time += 2000;
    expect([await list('users'), await list('roles')]).toEqual([['robert'], ['r']]);
    time += 1000;
    expect([await list('users'), await list('roles'), await list('policies')]).toEqual([['rob'], [], ['q']]);
    await compute('DELETE', location);
    expect((await compute('GET', location)).status).toBe(200);
    expect(await compute('DELETE', location)).toMatchObject(missing);
    time += 3000;
    expect(await compute('GET', location)).toMatchObject(missing);
  });

  test('notes of changes do not pile up', async () => {
    const { compute, store } = await start({ staleness: 1000 });
    const { json } = await compute('POST', '/my/policies', { json: { name: 'p', rules: ['CAN ping'] } });
    for (let index = 0; index < 5; index += 1) {
      time += 1000;
      await compute('POST', `/my/policies/${(json as { id: string }).id}`, { json: { description: String(index) } });
    }
    expect((await store.db.selectFrom('changes').selectAll().execute()).length).toBe(1);
  });
});

describe('throttling', () => {
  test('more requests a second than allowed get 420, later ones pass again', async () => {
    const { compute, storage } = await start({ throttle: 2 });
    const responses = await Promise.all(Array.from({ length: 8 }, () => compute('GET', '/my/keys')));
    const refused = responses.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThanOrEqual(2);
    for (const response of refused) expect(response).toMatchObject({ status: 420, code: 'RequestThrottled' });
    expect(refused[0]?.headers).toHaveProperty('request-id');
    expect((await storage('GET', '/demo/stor')).status).toBe(200);
    await new Promise((resolve) => {
      setTimeout(resolve, 600);
    });
    expect((await compute('GET', '/my/keys')).status).toBe(200);
  });
});

describe('latency', () => {
  test('every response waits', async () => {
    const { compute, storage } = await start({ latency: 60 });
    for (const ask of [compute, storage]) {
      const began = performance.now();
      await ask('GET', '/demo/none');
      expect(performance.now() - began).toBeGreaterThanOrEqual(55);
    }
  });
});

describe('faults', () => {
  test('an operation answers as told, as often as told, and does nothing', async () => {
    const { compute, storage } = await start({
      faults: createFaults('createpolicy=InternalError*2, getkey=ResourceNotFound,putobject=503:Busy'),
    });
    const json = { name: 'p', rules: ['CAN ping'] };
    for (const status of [500, 500, 201, 409]) expect((await compute('POST', '/my/policies', { json })).status).toBe(status);
    expect(await compute('GET', '/my/keys/any')).toMatchObject(missing);
    expect((await compute('GET', '/my/keys')).status).toBe(200);
    const put = await storage('PUT', '/demo/stor/x', { body: Buffer.from('x') });
    expect(put).toMatchObject({ status: 503, code: 'Busy' });
    expect((await storage('GET', '/demo/stor/x')).status).toBe(404);
  });

  test('a star stands for every operation', async () => {
    const { compute } = await start({ faults: createFaults('*=NotAvailable*1') });
    expect(await compute('GET', '/my/keys')).toMatchObject({ status: 501, code: 'NotAvailable' });
    expect((await compute('GET', '/my/keys')).status).toBe(200);
  });

  test('the state of an upload is an empty 204 as often as told, and of none it is still 404', async () => {
    const { storage } = await start({ faults: createFaults('getmultipartupload=204*1') });
    const { json } = await storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/x' } });
    const { id, partsDirectory } = json as { id: string; partsDirectory: string };
    const empty = await storage('GET', `${partsDirectory}/state`);
    expect([empty.status, empty.text, empty.headers['content-type']]).toEqual([204, '', undefined]);
    expect(await storage('GET', `${partsDirectory}/state`)).toMatchObject({ status: 200, json: { id, state: 'created' } });
    const unknown = await start({ faults: createFaults('getjob=204,getmultipartupload=204') });
    const other = '0f3c0000-0000-4000-8000-000000000003';
    for (const path of [`/demo/uploads/0f3/${other}/state`, `/demo/jobs/${other}/live/status`]) {
      expect(await unknown.storage('GET', path)).toMatchObject(missing);
    }
  });

  test.each([
    ['nonsense', 'OPERATION=FAILURE'],
    ['getkey=', 'OPERATION=FAILURE'],
    ['getkey=Strange', 'write the status'],
    ['getkey=200:Strange', '200 is not a status'],
    ['imagecreation=ResourceNotFound', 'PrepareImageDidNotRun'],
    ['getkey=204', 'getjob and getmultipartupload'],
  ])('%s is refused', (spec, words) => {
    expect(() => createFaults(spec)).toThrow(words);
  });
});
