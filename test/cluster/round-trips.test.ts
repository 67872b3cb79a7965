import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamOf } from '../../src/api/message.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import type { Store } from '../../src/server/store/store.ts';
import { findDamage } from '../support/find-damage.ts';
import { createTestGateways, type TestGateways } from '../support/cluster-gateways.ts';
import { countRoundTrips, type CountedWay } from '../support/round-trips.ts';
import { createRsaKey, joinServices, type JoinedServices } from '../support/service.ts';

/** How often a gateway waits for the database: what a request costs where the database is some milliseconds away. */

let gateways: TestGateways;
let way: CountedWay;
let store: Store;
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

/** Statements of one request. */
async function countTrips(of: JoinedServices, ...request: Parameters<JoinedServices['storage']>) {
  way.take();
  const response = await of.storage(...request);
  return { ...response, statements: way.take() };
}

const together = /^select .*contents.* from "accounts" .*"login" = /su;

test.each([
  ['of a row', 4096],
  ['of its entry', 100],
])('a GET of a small object, whose bytes are %s, asks for account, key, entry and bytes at once', async (_, size) => {
  const sent = Buffer.from(Array.from({ length: size }, (_each, index) => index % 256));
  expect((await services.storage('PUT', '/demo/stor/small', { body: sent })).status).toBe(204);
  const got = await countTrips(services, 'GET', '/demo/stor/small');
  expect([got.status, Buffer.from(got.bytes)]).toEqual([200, sent]);
  expect(got.statements).toEqual([expect.stringMatching(together)]);
  const part = await countTrips(services, 'GET', '/demo/stor/small', { headers: { range: 'bytes=7-9' } });
  expect([part.status, Buffer.from(part.bytes)]).toEqual([206, sent.subarray(7, 10)]);
  expect(part.statements).toHaveLength(1);
  expect((await countTrips(services, 'HEAD', '/demo/stor/small')).statements).toHaveLength(1);
});

test('who has not signed by the key before, or signs by another one, has no bytes looked up', async () => {
  const key = createRsaKey();
  const add = await services.compute('POST', '/demo/keys', { json: { name: 'second', key: key.line } });
  expect(add.status).toBe(201);
  const signing = { key, keyId: `/demo/keys/${key.fingerprint}` };
  const first = await countTrips(services, 'GET', '/demo/stor/small', { signing });
  expect([first.status, first.statements.some((statement) => together.test(statement))]).toEqual([200, false]);
  const next = await countTrips(services, 'GET', '/demo/stor/small', { signing });
  expect([next.status, next.statements]).toEqual([200, [expect.stringMatching(together)]]);
  const forged = await countTrips(services, 'GET', '/demo/stor/small', { signing: { ...signing, key: createRsaKey() } });
  expect(forged.status).toBe(403);
  expect(forged.statements).toEqual([expect.not.stringMatching(together)]);
  expect(forged.text).toBe((await services.storage('GET', '/demo/stor/none', { signing: { ...signing, key: createRsaKey() } })).text);
  const unsigned = await countTrips(services, 'GET', '/demo/stor/small', { signing: false });
  expect([unsigned.status, unsigned.statements]).toEqual([403, []]);
});

test('a GET of a larger object asks once more, whether the content is still there', async () => {
  const large = Buffer.alloc(20_000, 'large');
  expect((await services.storage('PUT', '/demo/stor/large', { body: large })).status).toBe(204);
  const got = await countTrips(services, 'GET', '/demo/stor/large');
  expect([got.status, Buffer.from(got.bytes)]).toEqual([200, large]);
  expect(got.statements).toHaveLength(2);
});

test('what is not there is found out by two queries more', async () => {
  way.take();
  expect((await services.storage('GET', '/demo/stor/none')).status).toBe(404);
  expect(way.take()).toHaveLength(3);
});

const lookedUp = /^select .*row_to_json\(above\).* from "accounts" .*"login" = /su;
const putAtOnce = /^select put_object\(/u;

test('a PUT of an object asks for account, key, entry and directory at once, and writes at once', async () => {
  const put = (size: number) => countTrips(services, 'PUT', '/demo/stor/put', { body: Buffer.alloc(size, size) });
  // New, in the place of another, of a row, of a file, of its entry.
  for (const size of [4096, 4000, 20_000, 100, 0, 5000]) {
    const { status, statements } = await put(size);
    expect([status, size, statements]).toEqual([204, size, [expect.stringMatching(lookedUp), expect.stringMatching(putAtOnce)]]);
    const got = await services.storage('GET', '/demo/stor/put');
    expect(Buffer.from(got.bytes)).toEqual(Buffer.alloc(size, size));
  }
  expect(await findDamage(store)).toEqual([]);
});

test('a PUT whose place has changed since it was looked up is refused by a transaction', async () => {
  const other = await gateways.add();
  const condition = { headers: { 'if-match': '' } };
  /** Sends its bytes when another gateway has done something. */
  const putSlowly = (path: string, change: () => Promise<unknown>, more: object = {}) => {
    const slow = async function* (): AsyncGenerator<Uint8Array> {
      await change();
      yield Buffer.from('slow');
    };
    return countTrips(services, 'PUT', path, { body: slow(), ...more });
  };
  const write =
    (path: string, sent: object = {}) =>
    () =>
      other.storage('PUT', path, { body: Buffer.from('quick'), ...sent });
  const directory = { headers: { 'content-type': 'application/json; type=directory' } };
  const late = await putSlowly('/demo/stor/late', write('/demo/stor/late'));
  // Without a condition it is the same whichever version it replaces.
  expect([late.status, late.statements.length]).toEqual([204, 2]);
  expect((await services.storage('GET', '/demo/stor/late')).text).toBe('slow');
  const lost = await putSlowly('/demo/stor/lost', write('/demo/stor/lost'), condition);
  expect([lost.status, lost.statements.at(-1)]).toEqual([409, 'rollback']);
  expect((await services.storage('GET', '/demo/stor/lost')).text).toBe('quick');
  expect((await putSlowly('/demo/stor/inside', write('/demo/stor/inside', directory))).json).toMatchObject({
    code: 'OperationNotAllowedOnDirectory',
  });
  await other.storage('PUT', '/demo/stor/going', directory);
  const orphan = await putSlowly('/demo/stor/going/a', () => other.storage('DELETE', '/demo/stor/going'));
  expect(orphan.json).toMatchObject({ code: 'DirectoryDoesNotExist' });
  expect(await findDamage(store)).toEqual([]);
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
