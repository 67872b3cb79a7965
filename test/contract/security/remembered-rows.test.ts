import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listWrittenGroups } from '../../../src/server/store/remembered-query.ts';
import { addUser, createRsaKey, createTestService, signAs, type Signing, type TestService } from '../../support/service.ts';

/** What the services keep in memory of accounts, keys and objects is never what was there before an acknowledged change. */

const rounds = 10;
const atOnce = 16;
const userKey = createRsaKey();
let service: TestService;

beforeAll(async () => {
  service = await createTestService();
  await addUser(service.store, service.account, 'bob', userKey);
  await service.storage('PUT', '/demo/stor/a', { body: Buffer.from('first') });
});
afterAll(() => service.close());

function read(signing: Signing): Promise<number> {
  return service.storage('GET', '/demo/stor/a', { signing }).then(({ status }) => status);
}

/** Statuses of many requests at once. */
function readOften(signing: Signing): Promise<number[]> {
  return Promise.all(Array.from({ length: atOnce }, () => read(signing)));
}

describe('keys', () => {
  test('a revoked key is dead for every request that begins after the answer, also among others under way', async () => {
    const key = createRsaKey();
    const signing = signAs('storage', key, 'demo');
    for (let round = 0; round < rounds; round += 1) {
      expect((await service.compute('POST', '/my/keys', { json: { name: `key${round}`, key: key.line } })).status).toBe(201);
      expect(new Set(await readOften(signing))).toEqual(new Set([200]));
      const underWay = readOften(signing);
      const deleted = await service.compute('DELETE', `/my/keys/${key.fingerprint}`);
      const after = await readOften(signing);
      expect([deleted.status, ...after]).toEqual([204, ...after.map(() => 403)]);
      await underWay;
      expect(await read(signing)).toBe(403);
    }
  });

  test('a key of a sub-user is dead with the sub-user, and each that is revoked', async () => {
    const signing = signAs('storage', userKey, 'demo', 'bob');
    const list = () => service.compute('GET', '/my/users').then(({ json }) => json as { id: string; login: string }[]);
    const bob = (await list()).find(({ login }) => login === 'bob')?.id ?? '';
    const code = () => service.storage('GET', '/demo/stor/a', { signing }).then((response) => response.code);
    // Known, without a role that allows anything.
    for (let time = 0; time < 3; time += 1) expect(await code()).toBe('NoMatchingRoleTag');
    expect((await service.compute('DELETE', `/my/users/${bob}`)).status).toBe(204);
    expect(await code()).not.toBe('NoMatchingRoleTag');
    expect(await read(signing)).toBe(403);
  });
});

describe('objects', () => {
  test('what was replaced or deleted is gone for every request that begins after the answer', async () => {
    const get = (method = 'GET') => service.storage(method, '/demo/stor/changing');
    for (let round = 0; round < rounds; round += 1) {
      const text = `version ${round}`;
      const put = await service.storage('PUT', '/demo/stor/changing', { body: Buffer.from(text) });
      const readers = [get(), get(), get()];
      expect([put.status, (await get()).text, (await get('HEAD')).headers['etag']]).toEqual([204, text, put.headers['etag']]);
      const replacing = service.storage('PUT', '/demo/stor/changing', { body: Buffer.from(`again ${round}`) });
      readers.push(get(), get(), get());
      await replacing;
      expect((await get()).text).toBe(`again ${round}`);
      for (const each of await Promise.all(readers)) expect([text, `again ${round}`]).toContain(each.text);
      expect((await service.storage('DELETE', '/demo/stor/changing')).status).toBe(204);
      expect([(await get()).status, (await get('HEAD')).status]).toEqual([404, 404]);
    }
  });

  test('a write that was undone was never there', async () => {
    await service.storage('PUT', '/demo/stor/kept', { body: Buffer.from('kept') });
    const get = () => service.storage('GET', '/demo/stor/kept').then(({ text }) => text);
    const reading: Promise<string>[] = [];
    const undone = service.store.write(async (transaction) => {
      await transaction.updateTable('entries').set({ etag: 'wrong', content: 'none' }).where('name', '=', 'kept').execute();
      reading.push(get(), get());
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    expect([await get(), ...(await Promise.all(reading))]).toEqual(['kept', 'kept', 'kept']);
  });
});

test('a statement forgets all that it may write to: what is not known forgets everything', () => {
  const both = ['identities', 'entries'];
  expect(
    [
      'select * from "keys"',
      'insert into "job_tasks" ("job") values (?)',
      'update "entries" set "etag" = ?',
      '\n      insert into entries (parent) select ?',
    ].map(listWrittenGroups),
  ).toEqual([[], [], ['entries'], ['entries']]);
  const others = [
    'delete from "keys" where "id" = ?',
    'delete from "users"',
    'insert or replace into "accounts" values (?)',
    'with gone as (select 1) delete from "keys"',
    'drop table "keys"',
    'replace into keys values (?)',
    'update "roles" set "name" = ?',
  ];
  for (const sql of others) expect([sql, listWrittenGroups(sql)]).toEqual([sql, both]);
});
