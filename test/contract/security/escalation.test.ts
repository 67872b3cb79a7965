import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readTimeHere } from '../../support/processor-time.ts';
import { addUser, createRsaKey, createTestService, signAs, type Sending, type TestReply, type TestService } from '../../support/service.ts';

const keys = { nosub: createRsaKey(), admin: createRsaKey() };
let service: TestService;

type As = 'demo' | 'nosub' | 'admin' | 'other';

/** A request of the compute service by somebody. */
function ask(as: As, method: string, path: string, json?: unknown, sending: Sending = {}): Promise<TestReply> {
  const signing =
    as === 'demo' ? {} : as === 'other' ? signAs('compute', service.otherKey, 'other') : signAs('compute', keys[as], 'demo', as);
  const target = as === 'other' ? path.replace(/^\/my(?=\/|$)/u, '/demo') : path;
  return service.compute(method, target, { ...(json !== undefined && { json }), signing, ...sending });
}

const everyone = ['nosub', 'other'] as const;

beforeAll(async () => {
  service = await createTestService();
  for (const login of ['nosub', 'admin'] as const) await addUser(service.store, service.account, login, keys[login]);
  await ask('demo', 'POST', '/my/policies', { name: 'change', rules: ['CAN createrole, updaterole, deleterole, getrole AND listroles *'] });
  const members = [
    { type: 'subuser', login: 'nosub', default: true },
    { type: 'account', login: 'other', default: true },
  ];
  await ask('demo', 'POST', '/my/roles', { name: 'team', policies: [{ name: 'change' }], members });
  await ask('demo', 'POST', '/my/roles', { name: 'spare' });
});
afterAll(() => service.close());

describe('the right to change roles is not the right to everything', () => {
  const self = [{ type: 'subuser', login: 'nosub', default: true }];

  test.each(everyone)('%s creates no role administrator', async (as) => {
    expect(await ask(as, 'POST', '/my/roles', { name: 'administrator', members: self })).toMatchObject({
      status: 403,
      code: 'NotAuthorized',
    });
    expect(await ask(as, 'POST', '/my/roles', { name: ' administrator ', members: self })).toMatchObject({ status: 403 });
    expect((await ask('demo', 'GET', '/my/roles/administrator')).status).toBe(404);
  });

  test.each(everyone)('%s renames no role to administrator, and so reads nothing more', async (as) => {
    expect(await ask(as, 'POST', '/my/roles/spare', { name: 'administrator', members: self })).toMatchObject({
      status: 403,
      code: 'NotAuthorized',
    });
    expect((await ask(as, 'GET', '/my/keys')).status).toBe(403);
    // What the rule is for still works.
    expect((await ask(as, 'POST', '/my/roles/spare', { members: self })).status).toBe(200);
    expect((await ask(as, 'POST', '/my/roles', { name: `made-by-${as}` })).status).toBe(201);
  });

  test('the account makes the role; others neither join it, by name or id, nor rename it; its members may change it', async () => {
    const made = await ask('demo', 'POST', '/my/roles', {
      name: 'administrator',
      members: [{ type: 'subuser', login: 'admin', default: true }],
    });
    expect(made.status).toBe(201);
    const { id } = made.json as { id: string };
    for (const as of everyone) {
      for (const path of ['/my/roles/administrator', `/my/roles/${id}`, `/demo/roles/${id.toUpperCase()}`]) {
        for (const change of [{ members: [{ type: 'subuser', login: 'admin' }, ...self] }, { name: 'harmless' }, {}]) {
          expect([403, 404]).toContain((await ask(as, 'POST', path, change)).status);
        }
      }
      const old = await ask(as, 'POST', `/my/roles/${id}`, { default_members: ['nosub'] }, { headers: { 'accept-version': '~8' } });
      expect(old.status).toBe(403);
      expect(await ask(as, 'DELETE', `/my/roles/${id}`)).toMatchObject({ status: 403, code: 'NotAuthorized' });
    }
    expect((await ask('nosub', 'GET', '/my/keys')).status).toBe(403);
    expect(
      (await ask('admin', 'POST', '/my/roles/administrator', { members: [{ type: 'subuser', login: 'admin', default: true }, ...self] }))
        .status,
    ).toBe(200);
    expect((await ask('nosub', 'GET', '/my/keys')).status).toBe(200);
    expect(
      (await ask('demo', 'POST', '/my/roles/administrator', { members: [{ type: 'subuser', login: 'admin', default: true }] })).status,
    ).toBe(200);
    expect((await ask('nosub', 'GET', '/my/keys')).status).toBe(403);
  });

  test('an administrator who is one only on request has to ask', async () => {
    await ask('demo', 'POST', '/my/roles/administrator', {
      members: [
        { type: 'subuser', login: 'nosub', default: false },
        { type: 'subuser', login: 'admin', default: true },
      ],
    });
    const change = {
      members: [
        { type: 'subuser', login: 'nosub', default: false },
        { type: 'subuser', login: 'admin', default: true },
      ],
    };
    expect((await ask('nosub', 'POST', '/my/roles/administrator', change)).status).toBe(403);
    expect((await ask('nosub', 'POST', '/my/roles/administrator?as-role=administrator', change)).status).toBe(200);
  });
});

describe('one change of a role does not hold up the service', () => {
  test('20,000 members and as many default members in the form of version 8 are refused at once, without a query each', async () => {
    const names = (count: number, prefix: string): string[] => Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    // Short names keep both lists in one body of 1 MiB.
    const json = { name: 'large', members: names(20_000, 'a'), default_members: names(20_000, 'b') };
    const started = readTimeHere();
    const response = await ask('demo', 'POST', '/my/roles', json, { headers: { 'accept-version': '~8' } });
    expect(response).toMatchObject({ status: 409, code: 'InvalidArgument' });
    expect(response.text).toContain('(limit role-members)');
    expect(readTimeHere() - started).toBeLessThan(2000);
  });

  test('a role with as many members as may be is made, and is what it was made of', async () => {
    await service.store.write(async (transaction) => {
      const row = await transaction.selectFrom('users').selectAll().where('login', '=', 'nosub').executeTakeFirstOrThrow();
      for (let number = 0; number < 1000; number += 1) {
        const login = `m${number}`;
        await transaction
          .insertInto('users')
          .values({ ...row, id: randomUUID(), login, login_key: login })
          .execute();
      }
    });
    const members = Array.from({ length: 1000 }, (_, index) => `m${index}`);
    const old = { headers: { 'accept-version': '~8' } };
    const response = await ask('demo', 'POST', '/my/roles', { name: 'full', members, default_members: ['M7'] }, old);
    expect(response.status).toBe(201);
    expect(response.json).toMatchObject({ members, default_members: ['m7'] });
    expect((await ask('demo', 'POST', '/my/roles/full', { default_members: ['nosub'] }, old)).text).toContain('(limit role-members)');
  });
});

test('a policy of very many rules is refused before each is compared with all others', async () => {
  const rules = Array.from({ length: 20_000 }, (_, index) => `CAN a${index}`);
  const started = readTimeHere();
  const response = await ask('demo', 'POST', '/my/policies', { name: 'many', rules });
  expect([response.status, response.text]).toEqual([409, expect.stringContaining('(limit policy-rules)')]);
  expect(readTimeHere() - started).toBeLessThan(2000);
  const twice = await ask('demo', 'POST', '/my/policies', { name: 'twice', rules: ['CAN a', 'CAN b', 'CAN a'] });
  expect([twice.status, twice.text]).toEqual([409, expect.stringContaining('rules[2] is the same as rules[0]')]);
});
