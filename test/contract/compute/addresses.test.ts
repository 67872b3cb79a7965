import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestService, type TestService } from '../../support/service.ts';
import { machineOf } from './image-service.ts';

/** A process that answers addresses of its own: they win over rows of the same names, which another process may have written. */

let service: TestService;
let time = Date.now();
const own = {
  datacenters: { 'east-1': 'https://own-east.test', alone: 'https://alone.test' },
  services: { compute: 'https://own-compute.test', storage: 'https://own-storage.test' },
};

beforeAll(async () => {
  service = await createTestService({ now: () => time, settings: { imageTime: 1000, addresses: () => own } });
  await service.store.write(async (transaction) => {
    await transaction.insertInto('datacenters').values({ name: 'west', url: 'https://west.test' }).execute();
    await transaction.insertInto('services').values({ name: 'docs', url: 'https://docs.test' }).execute();
  });
});
afterAll(() => service.close());

test('in the lists, by name, beside what an operator has added', async () => {
  expect(JSON.parse((await service.compute('GET', '/my/datacenters')).text)).toEqual({ ...own.datacenters, west: 'https://west.test' });
  const { text } = await service.compute('GET', '/my/services');
  expect(Object.entries(JSON.parse(text) as object)).toEqual([
    ['compute', 'https://own-compute.test'],
    ['docs', 'https://docs.test'],
    ['storage', 'https://own-storage.test'],
  ]);
});

test.each([
  ['east-1', 'https://own-east.test'],
  ['alone', 'https://alone.test'],
  ['west', 'https://west.test'],
])('where a request for the datacenter %s is sent', async (name, location) => {
  expect(await service.compute('GET', `/my/datacenters/${name}`)).toMatchObject({ status: 302, headers: { location } });
});

test.each(['none', 'constructor', '__proto__'])('the datacenter %s does not exist', async (name) => {
  expect(await service.compute('GET', `/my/datacenters/${name}`)).toMatchObject({ status: 404, code: 'ResourceNotFound' });
});

test('where an exported image is', async () => {
  const made = await service.compute('POST', '/my/images', { json: { machine: machineOf(1), name: 'made', version: '1.0' } });
  time += 1000;
  const { id } = made.json as { id: string };
  const exported = await service.compute('POST', `/my/images/${id}?action=export`, { json: { storage_path: '/demo/stor/made' } });
  expect(exported.json).toMatchObject({ storage_url: 'https://own-storage.test' });
});
