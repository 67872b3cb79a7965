import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useQuickPasswords } from '../../support/quick-crypto.ts';
import {
  addUser,
  createEcdsaKey,
  createRsaKey,
  createTestService,
  signAs,
  type Sending,
  type TestReply,
  type TestService,
} from '../../support/service.ts';

useQuickPasswords();

let service: TestService;
const userKey = createRsaKey();

/** As the sub-user bob. */
function askAsBob(method: string, target: string, sending: Sending = {}): Promise<TestReply> {
  return service.compute(method, target, { ...sending, signing: { key: userKey, keyId: `/demo/users/bob/keys/${userKey.fingerprint}` } });
}

async function make(collection: string, json: object): Promise<Record<string, string>> {
  const { json: made, status, text } = await service.compute('POST', `/my/${collection}`, { json });
  expect(status, text).toBe(201);
  return made as Record<string, string>;
}

beforeAll(async () => {
  service = await createTestService();
  await addUser(service.store, service.account, 'bob', userKey);
  await make('policies', { name: 'keys', rules: ['CAN listkeys, getkey, createkey AND updateuser'] });
  await make('roles', { name: 'keepers', policies: [{ name: 'keys' }], members: [{ type: 'subuser', login: 'bob', default: true }] });
  await make('roles', { name: 'others', members: [{ type: 'subuser', login: 'bob' }] });
  await make('keys', { name: 'sample', key: createEcdsaKey().line });
});
afterAll(() => service.close());

const missing = { status: 404, code: 'ResourceNotFound' };
const invalid = { status: 409, code: 'InvalidArgument' };
const denied = { status: 403, code: 'NotAuthorized' };

describe('rules with a resource', () => {
  const ask = async (rule: string, target: string): Promise<number> => {
    await service.compute('POST', '/my/policies/named', { json: { rules: [rule] } });
    return (await askAsBob('GET', target)).status;
  };

  test('mean the same resource whether the rule and the URL name it by name or by id', async () => {
    const fingerprint = (await make('keys', { name: 'named', key: createEcdsaKey().line }))['fingerprint'] ?? '';
    const policy = await make('policies', { name: 'named', rules: ['CAN getkey'] });
    const member = { type: 'subuser', login: 'bob', default: true };
    const role = await make('roles', { name: 'named', policies: [{ name: 'named' }], members: [member] });
    const bob = ((await service.compute('GET', '/my/users/bob')).json as { id: string }).id;
    const names: [action: string, words: string[], spelled: string[]][] = [
      ['getkey', [`keys/named`, `keys/${fingerprint}`], [`keys/${fingerprint.toUpperCase()}`]],
      ['getuser', ['users/bob', `users/${bob}`], ['users/BOB']],
      ['listuserkeys', ['users/bob/keys', `users/${bob}/keys`], ['users/Bob/keys']],
      [
        'getuserkey',
        ['bob', bob].flatMap((user) => [`users/${user}/keys/first`, `users/${user}/keys/${userKey.fingerprint}`]),
        ['users/BOB/keys/first'],
      ],
      ['getrole', ['roles/named', `roles/${role['id'] ?? ''}`], []],
      ['getpolicy', ['policies/named', `policies/${policy['id'] ?? ''}`], []],
    ];
    for (const [action, words, spelled] of names) {
      for (const path of words) await service.compute('PUT', `/my/${path}`, { json: { 'role-tag': ['named'] } });
      for (const inRule of words)
        for (const inUrl of [...words, ...spelled])
          expect([inRule, inUrl, await ask(`CAN ${action} /demo/${inRule}`, `/demo/${inUrl}`)]).toEqual([inRule, inUrl, 200]);
      expect(await ask(`CAN ${action} /demo/elsewhere`, `/demo/${words[0] ?? ''}`)).toBe(403);
    }
  });

  test('a name in a rule stands for the resource that requests get by it, and for no other of that name', async () => {
    const first = await make('keys', { name: 'twice', key: createEcdsaKey().line });
    const second = await make('keys', { name: 'twice', key: createEcdsaKey().line });
    for (const { fingerprint = '' } of [first, second])
      await service.compute('PUT', `/my/keys/${fingerprint}`, { json: { 'role-tag': ['named'] } });
    expect(await ask('CAN getkey /demo/keys/twice', `/demo/keys/${first['fingerprint'] ?? ''}`)).toBe(200);
    expect(await ask('CAN getkey /demo/keys/twice', `/demo/keys/${second['fingerprint'] ?? ''}`)).toBe(403);
  });
});

describe('SetRoleTags', () => {
  test('replaces, shows on GET and HEAD, removes; the name has the login', async () => {
    const set = await service.compute('PUT', '/my/keys/sample', { json: { 'role-tag': ['others', 'keepers'] } });
    expect(set).toMatchObject({ status: 200, json: { name: '/demo/keys/sample', 'role-tag': ['others', 'keepers'] } });
    for (const method of ['GET', 'HEAD']) {
      expect((await service.compute(method, '/my/keys/sample')).headers['role-tag']).toBe('others,keepers');
    }
    expect((await service.compute('GET', '/my/keys')).headers).not.toHaveProperty('role-tag');
    const one = await service.compute('PUT', '/my/keys/sample', { json: { 'role-tag': 'others' } });
    expect(one.json).toMatchObject({ 'role-tag': ['others'] });
    const form = {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: Buffer.from('role-tag=others&role-tag=keepers'),
    };
    expect((await service.compute('PUT', '/my/keys/sample', form)).json).toMatchObject({ 'role-tag': ['others', 'keepers'] });
    const none = await service.compute('PUT', '/my/keys/sample', { json: { 'role-tag': [] } });
    expect(none).toMatchObject({ status: 200, json: { 'role-tag': [] } });
    expect((await service.compute('GET', '/my/keys/sample')).headers).not.toHaveProperty('role-tag');
  });

  const collections = 'machines users roles packages images policies keys datacenters services fwrules networks'.split(' ');
  test.each([
    '',
    ...collections.map((name) => `/${name}`),
    '/users/bob',
    '/users/bob/keys',
    '/users/bob/keys/first',
    '/roles/others',
    '/policies/keys',
    '/packages/g1-nano',
    '/images/04f66d5e-0a32-4af3-a1f9-3bd80f95f0e1',
    '/machines/6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001',
    '/networks/8a3ee67a-1a45-43ea-b686-4d3dc9b78a06',
    '/datacenters/east-1',
    '/services/storage',
  ])('tags /my%s', async (path) => {
    const { json, status } = await service.compute('PUT', `/my${path}`, { json: { 'role-tag': ['others'] } });
    expect([status, json]).toEqual([200, { name: `/demo${path}`, 'role-tag': ['others'] }]);
    expect((await service.compute('PUT', `/demo${path}`, { json: { 'role-tag': [] } })).status).toBe(200);
  });

  test.each([
    ['/my/cats', invalid],
    ['/my/limits', invalid],
    ['/my/keys/sample/more', invalid],
    ['/my/users/bob/pets', invalid],
    ['/my/users/bob/keys/first/more', invalid],
    ['/my/keys/none', missing],
    ['/my/users/nobody', missing],
    ['/my/users/nobody/keys', missing],
    ['/my/users/bob/keys/none', missing],
    ['/my/fwrules/0f8fad5b-d9cb-469f-a165-70867728950e', missing],
    ['/nobody/keys', missing],
    ['/other/keys', denied],
  ])('PUT %s: %j', async (path, refusal) => {
    expect(await service.compute('PUT', path, { json: { 'role-tag': ['others'] } })).toMatchObject(refusal);
  });

  test.each(['/my/limits', '/my/users/bob/change_password'])('PUT %s without role-tag: no resource', async (path) => {
    const response = await service.compute('PUT', path, { json: {} });
    expect(response).toMatchObject(invalid);
    expect(response.text).toContain('not the path of a resource');
  });

  test('unknown roles and no roles are refused, and change nothing', async () => {
    await service.compute('PUT', '/my/keys/sample', { json: { 'role-tag': ['others'] } });
    const unknown = await service.compute('PUT', '/my/keys/sample', { json: { 'role-tag': ['keepers', 'nobody'] } });
    expect(unknown).toMatchObject(invalid);
    expect(unknown.text).toContain('nobody');
    expect(await service.compute('PUT', '/my/keys/sample', { json: {} })).toMatchObject({ status: 409, code: 'MissingParameter' });
    expect((await service.compute('GET', '/my/keys/sample')).headers['role-tag']).toBe('others');
  });

  test('tags belong to the thing, whatever it is called, and go with it or with the role', async () => {
    const { id = '' } = await make('roles', { name: 'passing' });
    const { id: user = '' } = await make('users', { login: 'kim', email: 'a@b', password: 'secret1234' });
    await service.compute('PUT', '/my/users/kim', { json: { 'role-tag': ['passing', 'others'] } });
    await service.compute('POST', `/my/users/${user}`, { json: { login: 'kimberly' } });
    expect((await service.compute('GET', `/my/users/${user}`)).headers['role-tag']).toBe('passing,others');
    await service.compute('POST', `/my/roles/${id}`, { json: { name: 'staying' } });
    expect((await service.compute('GET', '/my/users/kimberly')).headers['role-tag']).toBe('staying,others');
    await service.compute('DELETE', `/my/roles/${id}`);
    expect((await service.compute('GET', '/my/users/kimberly')).headers['role-tag']).toBe('others');
    const key = createEcdsaKey();
    await service.compute('POST', '/my/keys', { json: { key: key.line }, headers: { 'role-tag': 'others' } });
    await service.compute('DELETE', `/my/keys/${key.fingerprint}`);
    await service.compute('POST', '/my/keys', { json: { key: key.line } });
    expect((await service.compute('GET', `/my/keys/${key.fingerprint}`)).headers).not.toHaveProperty('role-tag');
  });
});

describe('the header role-tag', () => {
  test('tags what is made and what is updated', async () => {
    const headers = { 'role-tag': 'keepers, others' };
    const key = createEcdsaKey();
    await service.compute('POST', '/my/keys', { json: { key: key.line }, headers });
    expect((await service.compute('GET', `/my/keys/${key.fingerprint}`)).headers['role-tag']).toBe('keepers,others');
    const { id = '' } = await make('users', { login: 'lee', email: 'a@b', password: 'secret1234' });
    await service.compute('POST', `/my/users/${id}`, { json: { phone: '1' }, headers });
    expect((await service.compute('GET', '/my/users/lee')).headers['role-tag']).toBe('keepers,others');
    await service.compute('POST', '/my/users/lee', { json: {}, headers: { 'role-tag': '' } });
    expect((await service.compute('GET', '/my/users/lee')).headers).not.toHaveProperty('role-tag');
  });

  test('with an unknown role nothing is made', async () => {
    const key = createEcdsaKey();
    const headers = { 'role-tag': 'nobody' };
    expect(await service.compute('POST', '/my/keys', { json: { key: key.line }, headers })).toMatchObject(invalid);
    expect(await service.compute('GET', `/my/keys/${key.fingerprint}`)).toMatchObject(missing);
  });

  test('needs the permission to set role tags when the thing was there before', async () => {
    await service.compute('PUT', '/my/users/lee', { json: { 'role-tag': ['keepers'] } });
    expect((await askAsBob('POST', '/my/users/lee', { json: { phone: '2' } })).status).toBe(200);
    const headers = { 'role-tag': 'others' };
    const refused = await askAsBob('POST', '/my/users/lee', { json: { phone: '3' }, headers });
    expect(refused).toMatchObject(denied);
    expect(refused.text).toContain('(setroletags)');
    expect((await service.compute('GET', '/my/users/lee')).json).toMatchObject({ phone: '2' });
  });
});

describe('what a sub-user gets to see', () => {
  test('the tag of the collection is for the collection, that of a member for the member', async () => {
    await service.compute('PUT', '/my/keys', { json: { 'role-tag': ['keepers'] } });
    await service.compute('PUT', '/my/keys/sample', { json: { 'role-tag': [] } });
    expect((await askAsBob('GET', '/my/keys')).status).toBe(200);
    expect((await askAsBob('HEAD', '/my/keys')).status).toBe(200);
    expect(await askAsBob('GET', '/my/keys/sample')).toMatchObject(denied);
    expect(await askAsBob('GET', '/my/keys/none')).toMatchObject(missing);
    expect(await askAsBob('DELETE', '/my/keys/none')).toMatchObject(denied);
    expect((await askAsBob('POST', '/my/keys', { json: { key: createEcdsaKey().line } })).status).toBe(201);
    await service.compute('PUT', '/my/keys/sample', { json: { 'role-tag': ['keepers'] } });
    expect((await askAsBob('GET', '/my/keys/sample')).status).toBe(200);
    await service.compute('PUT', '/my/keys', { json: { 'role-tag': [] } });
    expect(await askAsBob('GET', '/my/keys')).toMatchObject(denied);
    expect(await askAsBob('GET', '/my/keys/none')).toMatchObject(denied);
    expect((await askAsBob('GET', '/my/keys/sample')).status).toBe(200);
  });

  test.each(['keepers,others', 'others,keepers', 'keepers'])('as-role=%s', async (names) => {
    expect((await askAsBob('GET', `/my/keys/sample?as-role=${names}`)).status).toBe(200);
  });

  test.each(['others', 'nobody', 'keepers,nobody'])('as-role=%s: 403 naming path and action', async (names) => {
    const response = await askAsBob('GET', `/my/keys/sample?as-role=${names}`);
    expect(response).toMatchObject(denied);
    expect(response.text).toContain('You do not have permission to access /my/keys/sample (getkey)');
  });

  test('of the second datacenter, the images that are there', async () => {
    const [there, here] = ['b2a6d6b4-0c1e-4a53-8b5a-5f7c1d2e0001', '04f66d5e-0a32-4af3-a1f9-3bd80f95f0e1'];
    const askSecond = (path: string): Promise<TestReply> =>
      service.second('GET', path, { signing: signAs('compute', userKey, 'demo', 'bob') });
    const tag = (path: string): Promise<TestReply> => service.second('PUT', path, { json: { 'role-tag': ['lookers'] } });
    await make('policies', { name: 'images', rules: ['CAN listimages AND getimage'] });
    await make('roles', { name: 'lookers', policies: [{ name: 'images' }], members: [{ type: 'subuser', login: 'bob', default: true }] });
    expect((await tag('/my/images')).status).toBe(200);
    expect((await askSecond('/my/images')).status).toBe(200);
    expect(await askSecond(`/my/images/${there}`)).toMatchObject(denied);
    expect(await askSecond(`/my/images/${here}`)).toMatchObject(missing);
    expect(await tag(`/my/images/${here}`)).toMatchObject(missing);
    expect((await tag(`/my/images/${there}`)).status).toBe(200);
    expect(await askSecond(`/my/images/${there}`)).toMatchObject({ status: 200, headers: { 'role-tag': 'lookers' } });
    expect(await askAsBob('GET', `/my/images/${there}`)).toMatchObject(missing);
  });

  test('a broken stored rule denies, and is no internal error', async () => {
    await service.store.write((transaction) =>
      transaction.updateTable('policies').set({ rules: '["nonsense","CAN getkey WHEN owner = x"]' }).where('name', '=', 'keys').execute(),
    );
    expect(await askAsBob('GET', '/my/keys/sample')).toMatchObject(denied);
  });
});
