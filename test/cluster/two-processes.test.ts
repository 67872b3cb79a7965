import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/server/store/store.ts';
import { createSharedPlace, type SharedPlace } from '../support/cluster-database.ts';
import { findDamage } from '../support/find-damage.ts';
import { createRsaKey, createTestService, joinServices, signAs, type TestReply, type TestService } from '../support/service.ts';

/** Services of two processes, each with its own connections and memory, over one database and one folder. */

let first: TestService;
let second: Pick<TestService, 'compute' | 'storage'>;
let store: Store;
let place: SharedPlace;

beforeAll(async () => {
  place = await createSharedPlace();
  first = await createTestService({ open: place.open });
  store = await place.open();
  second = joinServices(store, first.key);
});
afterAll(async () => {
  await store.close();
  await first.close();
  await place.remove();
});

/** One of the two in turn. */
const either = (turn: number): Pick<TestService, 'compute' | 'storage'> => (turn % 2 === 0 ? first : second);
const directory = { 'content-type': 'application/json; type=directory' };
const count = (responses: readonly TestReply[], status: number): number =>
  responses.filter((response) => response.status === status).length;

describe('what one acknowledged, the other knows', () => {
  test('a key that was revoked is dead everywhere, one that was registered alive', async () => {
    const key = createRsaKey();
    const signing = signAs('storage', key, 'demo');
    const read = (turn: number): Promise<number> =>
      either(turn)
        .storage('GET', '/demo/stor', { signing })
        .then(({ status }) => status);
    for (let round = 0; round < 5; round += 1) {
      const made = await either(round).compute('POST', '/my/keys', { json: { name: `key${round}`, key: key.line } });
      expect([made.status, await read(round), await read(round + 1)]).toEqual([201, 200, 200]);
      const gone = await either(round + 1).compute('DELETE', `/my/keys/${key.fingerprint}`);
      expect([gone.status, await read(round), await read(round + 1)]).toEqual([204, 403, 403]);
    }
  });

  test('an object that was replaced, and its bytes', async () => {
    for (let round = 0; round < 10; round += 1) {
      const body = Buffer.from(`${round}`.repeat(1000));
      expect((await either(round).storage('PUT', '/demo/stor/replaced', { body })).status).toBe(204);
      expect((await either(round + 1).storage('GET', '/demo/stor/replaced')).text).toBe(body.toString());
    }
  });
});

describe('writers of the same', () => {
  test('of conditional creations exactly one wins', async () => {
    for (let round = 0; round < 5; round += 1) {
      const puts = Array.from({ length: 16 }, (_, turn) =>
        either(turn).storage('PUT', `/demo/stor/once${round}`, { body: Buffer.from(`${turn}`), headers: { 'if-none-match': '*' } }),
      );
      const responses = await Promise.all(puts);
      expect([count(responses, 204), count(responses, 412)]).toEqual([1, 15]);
    }
  });

  test('a directory is not removed under a child that is put into it', async () => {
    for (let round = 0; round < 15; round += 1) {
      await first.storage('PUT', '/demo/stor/d', { headers: directory });
      const [removed, made] = await Promise.all([
        either(round).storage('DELETE', '/demo/stor/d'),
        either(round + 1).storage('PUT', '/demo/stor/d/child', { body: Buffer.from('x') }),
      ]);
      expect([
        [204, 404],
        [400, 204],
      ]).toContainEqual([removed.status, made.status]);
      await first.storage('DELETE', '/demo/stor/d/child');
      await first.storage('DELETE', '/demo/stor/d');
    }
    expect(await findDamage(store)).toEqual([]);
  });

  test('the count of a directory is that of its entries, whoever makes and removes them', async () => {
    await first.storage('PUT', '/demo/stor/counted', { headers: directory });
    const rounds = Array.from({ length: 24 }, async (_, turn) => {
      const path = `/demo/stor/counted/${turn % 12}`;
      const put = await either(turn).storage('PUT', path, { body: Buffer.from('x') });
      const removed = turn % 3 === 0 ? await either(turn + 1).storage('DELETE', path) : undefined;
      return [put.status, removed?.status ?? 204];
    });
    for (const [put, removed] of await Promise.all(rounds)) expect([put, [204, 404].includes(removed ?? 0)]).toEqual([204, true]);
    const listed = await second.storage('GET', '/demo/stor/counted');
    expect(listed.headers['result-set-size']).toBe(String(listed.text.trim().split('\n').length));
    expect(await findDamage(store)).toEqual([]);
  });
});

describe('NUL', () => {
  test.each(['/demo/stor?marker=%00', '/demo/stor?marker=a%00&sort=mtime', '/demo/jobs?name=%00'])('%s is refused', async (target) => {
    expect((await first.storage('GET', target)).status).toBe(400);
  });

  test('in a text that would be looked for or stored is refused before it is sent', async () => {
    const find = (): Promise<unknown> => store.db.selectFrom('accounts').selectAll().where('login', '=', 'demo\0').execute();
    await expect(find()).rejects.toMatchObject({ status: 400, code: 'BadRequest' });
    const update = await first.compute('POST', '/my', { json: { city: 'a\0b' } });
    expect(update.status).toBeLessThan(500);
    expect((await second.compute('GET', '/my')).status).toBe(200);
  });
});
