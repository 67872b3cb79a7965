import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamOf } from '../../src/api/message.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import type { LocalStore } from '../../src/server/store/open.ts';
import { createTestGateways, type TestGateways } from '../support/cluster-gateways.ts';
import { countRoundTrips, type CountedWay } from '../support/round-trips.ts';
import { createRsaKey, joinServices, type JoinedServices } from '../support/service.ts';

/** How often a gateway waits for the database: what a request costs where the database is some milliseconds away. */

let gateways: TestGateways;
let way: CountedWay;
let store: LocalStore;
let services: JoinedServices;

beforeAll(async () => {
  gateways = await createTestGateways();
  way = await countRoundTrips(gateways.url);
  store = await openClusterStore({ database: way.url, bytes: gateways.dir });
  services = joinServices(store, gateways.service.key);
});
afterAll(async () => {
  await store.close();
  await way.close();
  await gateways.close();
});

const body = () => streamOf(Buffer.alloc(4096, 1));

test('a GET of an object asks for account, key and entry at once, and then whether its content is still there', async () => {
  expect((await services.storage('PUT', '/demo/stor/small', { body: body() })).status).toBe(204);
  way.take();
  const got = await services.storage('GET', '/demo/stor/small');
  expect(got.status).toBe(200);
  expect(got.bytes).toHaveLength(4096);
  const [first, ...others] = way.take();
  expect(first).toMatch(/from "accounts".*"login" = /s);
  expect(others).toEqual([expect.stringMatching(/^select \* from "entries"/)]);
});

test('what is not there is found out by two queries more', async () => {
  way.take();
  expect((await services.storage('GET', '/demo/stor/none')).status).toBe(404);
  expect(way.take()).toHaveLength(3);
});

test('a PUT in the place of another asks once before its transaction for who sends it', async () => {
  expect((await services.storage('PUT', '/demo/stor/put', { body: body() })).status).toBe(204);
  way.take();
  expect((await services.storage('PUT', '/demo/stor/put', { body: body() })).status).toBe(204);
  const statements = way.take();
  const transaction = statements.findIndex((statement) => statement.startsWith('start transaction'));
  expect(statements.filter((statement) => /from "(?:accounts|keys|users)"/.test(statement))).toHaveLength(1);
  // The parent and the entry, before the bytes are asked for.
  expect(transaction).toBe(3);
  expect(statements.at(-1)).toBe('commit');
  expect(statements.length).toBeLessThanOrEqual(10);
});

test('a key that was revoked by another gateway is dead for the next request', async () => {
  const key = createRsaKey();
  const other = await gateways.add();
  const created = await other.compute('POST', '/demo/keys', { json: { name: 'short-lived', key: key.line } });
  expect(created.status).toBe(201);
  const signing = { key, keyId: `/demo/keys/${key.fingerprint}` };
  expect((await services.storage('GET', '/demo/stor/small', { signing })).status).toBe(200);
  expect((await other.compute('DELETE', '/demo/keys/short-lived')).status).toBe(204);
  expect((await services.storage('GET', '/demo/stor/small', { signing })).status).toBe(403);
});

test('an object that another gateway replaced is the new one for the next request, and one that it removed is gone', async () => {
  const other = await gateways.add();
  const write = (): Promise<unknown> => other.storage('PUT', '/demo/stor/shared', { body: streamOf(Buffer.from('new')) });
  expect((await services.storage('PUT', '/demo/stor/shared', { body: body() })).status).toBe(204);
  expect((await services.storage('GET', '/demo/stor/shared')).bytes).toHaveLength(4096);
  await write();
  expect((await services.storage('GET', '/demo/stor/shared')).text).toBe('new');
  await other.storage('DELETE', '/demo/stor/shared');
  expect((await services.storage('GET', '/demo/stor/shared')).status).toBe(404);
});
