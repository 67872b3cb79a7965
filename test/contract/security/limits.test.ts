import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serviceLimits, type LimitName } from '../../../src/api/service-limits.ts';
import { kebab } from '../../../src/config/settings.ts';
import { useQuickPasswords } from '../../support/quick-crypto.ts';
import { addUser, createEcdsaKey, createTestService, type TestReply, type TestService } from '../../support/service.ts';

const small: Partial<Record<LimitName, number>> = {
  ruleBytes: 60,
  ruleComparisons: 2,
  policyRules: 2,
  rolePolicies: 1,
  roleMembers: 2,
  userKeys: 2,
  users: 3,
  roles: 2,
  policies: 3,
  images: 1,
  openUploads: 1,
  parameterBytes: 2000,
};

useQuickPasswords();

let service: TestService;
let unlimited: TestService;
beforeAll(async () => {
  [service, unlimited] = await Promise.all([createTestService({ settings: { serviceLimits: small } }), createTestService()]);
  for (const each of [service, unlimited]) {
    for (const login of ['ann', 'bob', 'cid']) await addUser(each.store, each.account, login, createEcdsaKey());
    for (const name of ['one', 'two']) await each.compute('POST', '/my/policies', { json: { name, rules: ['CAN ping'] } });
    for (const name of ['first', 'second']) await each.compute('POST', '/my/roles', { json: { name } });
    await each.compute('POST', '/my/keys', { json: { key: createEcdsaKey().line } });
    await each.compute('POST', '/my/images', { json: image() });
    await each.storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/a' } });
  }
});
afterAll(async () => {
  await Promise.all([service.close(), unlimited.close()]);
});

const image = () => ({ machine: '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001', name: randomUUID(), version: '1' });
type Ask = (to: TestService) => Promise<TestReply>;
const post =
  (path: string, make: () => unknown): Ask =>
  (to) =>
    to.compute('POST', path, { json: make() });
const policy = (rules: string[]) => () => ({ name: randomUUID(), rules });

/** What reaches each limit of a service with the small ones, and is nothing special to one without. */
const cases: [limit: LimitName, status: number, ask: Ask][] = [
  ['ruleBytes', 409, post('/my/policies', policy([`CAN getkey, listkeys, ${'createkey, '.repeat(4)}listusers AND ping`]))],
  ['ruleComparisons', 409, post('/my/policies', policy(['CAN ping IF day = 1 OR day = 2 OR day = 3']))],
  ['ruleComparisons', 409, post('/my/policies', policy(['CAN ping IF day IN (1, 2, 3)']))],
  ['policyRules', 409, post('/my/policies', policy(['CAN ping', 'CAN getkey', 'CAN getuser']))],
  ['policyRules', 409, post('/my/policies/one', () => ({ rules: ['CAN ping', 'CAN getkey', 'CAN getuser'] }))],
  ['rolePolicies', 409, post('/my/roles/first', () => ({ policies: [{ name: 'one' }, { name: 'two' }] }))],
  ['roleMembers', 409, post('/my/roles/first', () => ({ members: ['ann', 'bob', 'cid'].map((login) => ({ type: 'subuser', login })) }))],
  ['userKeys', 409, post('/my/keys', () => ({ key: createEcdsaKey().line }))],
  ['users', 409, post('/my/users', () => ({ login: `u${randomUUID().slice(0, 8)}`, email: 'a@b', password: 'secret1234' }))],
  ['roles', 409, post('/my/roles', () => ({ name: randomUUID() }))],
  ['images', 409, post('/my/images', image)],
  ['openUploads', 409, (to) => to.storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/b' } })],
  ['parameterBytes', 413, post('/my/roles/first', () => ({ name: 'first', filler: 'x'.repeat(3000) }))],
];

describe('a request that would exceed a limit is refused by a message and a line of the log that name it', () => {
  test.each(cases)('%s: %i', async (limit, status, ask) => {
    expect((await ask(unlimited)).status).toBeLessThan(300);
    const before = service.log.length;
    const response = await ask(service);
    expect(response.status).toBe(status);
    expect(response.text).toContain(`(limit ${kebab(limit)})`);
    expect(response.text).toContain(String(small[limit]));
    expect(service.log.slice(before).join('\n')).toContain(`limit ${kebab(limit)} reached`);
  });

  test('policies: the one within the limit is made, the next is not, and a deleted one makes room', async () => {
    const make = post('/my/policies', policy(['CAN ping']));
    const third = await make(service);
    expect(third.status).toBe(201);
    expect((await make(service)).text).toContain('(limit policies)');
    await service.compute('DELETE', `/my/policies/${(third.json as { id: string }).id}`);
    expect((await make(service)).status).toBe(201);
  });

  test('members in the form of version 8: those there are count with those that default members add', async () => {
    const old = { 'accept-version': '~8' };
    const send = (json: object) => service.compute('POST', '/my/roles/second', { json, headers: old });
    expect((await send({ members: ['ann', 'bob'] })).status).toBe(200);
    expect((await send({ default_members: ['cid'] })).text).toContain('(limit role-members)');
    expect((await send({ default_members: ['ANN', 'ann'] })).status).toBe(200);
  });

  test('an upload that ended makes room', async () => {
    const { id } = await service.store.db.selectFrom('uploads').selectAll().executeTakeFirstOrThrow();
    await service.storage('POST', `/demo/uploads/${id.slice(0, 3)}/${id}/abort`);
    expect((await service.storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/b' } })).status).toBe(201);
  });
});

describe('what lists of an account have together is limited, because each is read and sent whole', () => {
  let narrow: TestService;
  beforeAll(async () => {
    narrow = await createTestService({ settings: { serviceLimits: { accountMembers: 12, listCharacters: 3000 } } });
  });
  afterAll(() => narrow.close());

  const long = 'x'.repeat(2000);
  test.each([
    ['policies', () => ({ name: randomUUID(), rules: ['CAN ping'], description: long }), { description: `${long}${long}` }],
    ['users', () => ({ login: `u${randomUUID().slice(0, 8)}`, email: 'a@b', password: 'secret1234', address: long }), { city: long }],
    ['images', () => ({ ...image(), tags: { note: long } }), { tags: { note: `${long}${long}` } }],
  ])('the texts of all %s', async (list, make, growth) => {
    const ask = (path: string, json: object) => narrow.compute('POST', `/my/${list}${path}`, { json });
    const first = (await ask('', make())).json as { id: string };
    const refused = await ask('', make());
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('(limit list-characters)')]);
    const action = list === 'images' ? '?action=update' : '';
    expect((await ask(`/${first.id}${action}`, growth)).text).toContain('(limit list-characters)');
    expect((await ask(`/${first.id}${action}`, { [Object.keys(growth)[0] ?? '']: list === 'images' ? {} : '' })).status).toBe(200);
  });

  test('the members of all roles', async () => {
    const logins = Array.from({ length: 13 }, (_, number) => `member${number}`);
    for (const login of logins) await addUser(narrow.store, narrow.account, login, createEcdsaKey());
    const members = (count: number) => ({ members: logins.slice(0, count).map((login) => ({ type: 'subuser', login })) });
    const send = async (path: string, json: object) => (await narrow.compute('POST', `/my/roles${path}`, { json })).text;
    await send('', { name: 'one', ...members(12) });
    expect(await send('', { name: 'two', ...members(11) })).toContain('(limit account-members)');
    expect(await send('', { name: 'small', ...members(10) })).toContain('"member9"');
    expect(await send('/one', members(13))).toContain('(limit account-members)');
    expect(await send('/one', members(11))).toContain('"member10"');
  });
});

test('limits say in their help what they bound', () => {
  for (const { help, default: value } of Object.values(serviceLimits)) {
    expect(help).toMatch(/^[A-Z].*[^.]$/u);
    expect(value).toBeGreaterThan(0);
  }
});
