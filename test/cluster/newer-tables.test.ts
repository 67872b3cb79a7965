import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateways, type TestGateways } from '../support/cluster-gateways.ts';
import { runStatement } from '../support/postgres.ts';

/** Tables to which a newer release has added columns, while gateways of this one go on. */

let gateways: TestGateways;
beforeAll(async () => {
  gateways = await createTestGateways();
  for (const table of ['entries', 'uploads', 'jobs', 'job_tasks'])
    await runStatement(gateways.url, `alter table ${table} add column later text not null default 'later'`);
});
afterAll(() => gateways.close());

test('what is made of a row that was read does not have them', async () => {
  const { storage } = gateways.service;
  expect((await storage('PUT', '/demo/stor/source', { body: Buffer.from('first') })).status).toBe(204);
  // The first that a gateway writes is a link, whose row is made of that of its source.
  const gateway = await gateways.add();
  const asLink = { headers: { 'content-type': 'application/json; type=link', location: '/demo/stor/source' } };
  expect((await gateway.storage('PUT', '/demo/stor/link', asLink)).status).toBe(204);
  expect((await gateway.storage('PUT', '/demo/stor/object', { body: Buffer.from('second') })).status).toBe(204);
  expect((await gateway.storage('PUT', '/demo/stor/source', asLink)).status).toBe(204);
  expect((await gateway.storage('PUT', '/demo/stor/source', { body: Buffer.from('third') })).status).toBe(204);
  const read = async (name: string): Promise<string> => (await gateway.storage('GET', `/demo/stor/${name}`)).text;
  expect([await read('link'), await read('object'), await read('source')]).toEqual(['first', 'second', 'third']);
});
