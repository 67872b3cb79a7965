import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useQuickPasswords } from '../../support/quick-crypto.ts';
import { createTestService, type Sending, type TestReply, type TestService } from '../../support/service.ts';

useQuickPasswords();

let service: TestService;
const ids: Record<string, string> = {};

async function make(collection: string, json: object): Promise<string> {
  const { json: made, status, text } = await service.compute('POST', `/my/${collection}`, { json });
  expect(status, text).toBe(201);
  return (made as { id: string }).id;
}

/** As a client of API version 8. */
function askOld(method: string, target: string, sending: Sending = {}): Promise<TestReply> {
  return service.compute(method, target, { ...sending, headers: { ...sending.headers, 'accept-version': '~8' } });
}

beforeAll(async () => {
  service = await createTestService();
  for (const login of ['bob', 'carol', 'dan']) ids[login] = await make('users', { login, email: 'a@b', password: 'secret1234' });
  for (const name of ['reading', 'writing']) ids[name] = await make('policies', { name, rules: ['CAN listkeys'] });
});
afterAll(() => service.close());

const missing = { status: 404, code: 'ResourceNotFound' };
const invalid = { status: 409, code: 'InvalidArgument' };
const uuid = '0f8fad5b-d9cb-469f-a165-70867728950e';
const subuser = (login: string, isDefault: boolean): object => ({ type: 'subuser', id: ids[login], login, default: isDefault });

describe('roles', () => {
  test('create, get by id and name, list, update, delete by id', async () => {
    const response = await service.compute('POST', '/my/roles', {
      json: {
        name: ' operators ',
        policies: [{ name: 'writing' }, { id: ids['reading'], name: 'nonsense' }, { name: 'writing' }],
        members: [
          { type: 'subuser', login: 'Carol', default: true },
          { type: 'subuser', id: ids['bob'] },
          { type: 'account', login: 'other' },
        ],
      },
    });
    const id = (response.json as { id: string }).id;
    const account = { type: 'account', id: service.other.id, login: 'other', default: false };
    expect(response).toMatchObject({ status: 201, headers: { location: `/demo/roles/${id}` } });
    expect(response.json).toEqual({
      id,
      name: 'operators',
      policies: [
        { id: ids['writing'], name: 'writing' },
        { id: ids['reading'], name: 'reading' },
      ],
      members: [subuser('carol', true), subuser('bob', false), account],
    });
    for (const name of [id, 'operators']) expect((await service.compute('GET', `/my/roles/${name}`)).json).toEqual(response.json);
    expect((await service.compute('GET', '/my/roles')).json).toEqual([response.json]);
    const renamed = await service.compute('POST', '/my/roles/operators', { json: { name: 'ops' } });
    expect(renamed.json).toEqual({ ...(response.json as object), name: 'ops' });
    const changed = await service.compute('POST', `/my/roles/${id}`, {
      json: { members: [{ type: 'subuser', login: 'dan' }], policies: [] },
    });
    expect(changed.json).toEqual({ id, name: 'ops', policies: [], members: [subuser('dan', false)] });
    expect(await service.compute('DELETE', '/my/roles/ops')).toMatchObject(missing);
    expect((await service.compute('DELETE', `/my/roles/${id}`)).status).toBe(204);
    for (const method of ['GET', 'DELETE']) expect(await service.compute(method, `/my/roles/${id}`)).toMatchObject(missing);
    expect(await service.compute('POST', '/my/roles/ops', { json: { name: 'x' } })).toMatchObject(missing);
  });

  test.each([
    [{}, 'MissingParameter', 'name'],
    [{ name: 'a', members: [{ type: 'subuser', login: 'nobody' }] }, 'InvalidArgument', 'nobody'],
    [{ name: 'a', members: [{ type: 'account', login: 'nobody' }] }, 'InvalidArgument', 'nobody'],
    [{ name: 'a', members: [{ type: 'account', login: 'demo' }] }, 'InvalidArgument', 'demo'],
    [{ name: 'a', members: [{ type: 'robot', login: 'bob' }] }, 'InvalidArgument', 'members[0].type'],
    [{ name: 'a', members: [{}] }, 'InvalidArgument', 'members[0]'],
    [{ name: 'a', members: [{ type: 'subuser', id: 'bob' }] }, 'InvalidArgument', 'members[0].id'],
    [{ name: 'a', members: 7 }, 'InvalidArgument', 'members'],
    [{ name: 'a', policies: [{ name: 'none' }] }, 'InvalidArgument', 'none'],
    [{ name: 'a', policies: [{}] }, 'InvalidArgument', 'policies[0]'],
    [{ name: 'a,b' }, 'InvalidArgument', 'name'],
    [{ name: 'a/b' }, 'InvalidArgument', 'name'],
    [{ name: '*' }, 'InvalidArgument', 'name'],
    // Role tags are shown in a header, which cannot carry it: whoever read what has the tag got no response at all.
    [{ name: 'команда' }, 'InvalidArgument', 'ASCII'],
    [{ name: 'x'.repeat(129) }, 'InvalidArgument', 'name'],
    [{ name: 'administrator', policies: [{ name: 'reading' }] }, 'InvalidArgument', 'administrator'],
  ])('%j: %s, and nothing is made', async (json, code, words) => {
    const response = await service.compute('POST', '/my/roles', { json });
    expect(response).toMatchObject({ status: 409, code });
    expect(response.text).toContain(words);
    expect((await service.compute('GET', '/my/roles')).json).toEqual([]);
  });

  test('names are unique in the account; a refused update changes nothing', async () => {
    const id = await make('roles', { name: 'first', members: [{ type: 'subuser', login: 'bob' }] });
    await make('roles', { name: 'second' });
    expect(await service.compute('POST', '/my/roles', { json: { name: 'first' } })).toMatchObject(invalid);
    const refused = await service.compute('POST', `/my/roles/${id}`, {
      json: { name: 'third', members: [{ type: 'subuser', login: 'nobody' }] },
    });
    expect(refused).toMatchObject(invalid);
    expect(await service.compute('POST', `/my/roles/${id}`, { json: { name: 'second' } })).toMatchObject(invalid);
    expect((await service.compute('GET', `/my/roles/${id}`)).json).toMatchObject({ name: 'first', members: [subuser('bob', false)] });
  });

  test('membership of a user shows on request, and ends with the user or the role', async () => {
    const id = await make('roles', { name: 'night', members: [{ type: 'subuser', login: 'dan', default: true }] });
    await make('roles', { name: 'day', members: [{ type: 'subuser', login: 'dan' }] });
    expect((await service.compute('GET', '/my/users/dan')).json).not.toHaveProperty('roles');
    expect((await service.compute('GET', '/my/users/dan?membership=true')).json).toMatchObject({
      roles: ['night', 'day'],
      default_roles: ['night'],
    });
    await service.compute('DELETE', `/my/roles/${id}`);
    expect((await service.compute('GET', '/my/users/dan?membership=true')).json).toMatchObject({ roles: ['day'], default_roles: [] });
    await service.compute('DELETE', '/my/users/dan');
    expect((await service.compute('GET', '/my/roles/day')).json).toMatchObject({ members: [] });
  });
});

describe('roles in API version 8', () => {
  test('are names, with default members apart', async () => {
    const response = await askOld('POST', '/my/roles', {
      json: { name: 'old', members: ['bob', 'carol'], default_members: ['carol'], policies: ['reading'] },
    });
    const id = (response.json as { id: string }).id;
    const shown = { id, name: 'old', members: ['bob', 'carol'], default_members: ['carol'], policies: ['reading'] };
    expect(response).toMatchObject({ status: 201, json: shown });
    expect((await askOld('GET', '/my/roles/old')).json).toEqual(shown);
    expect((await askOld('GET', '/my/roles')).json).toContainEqual(shown);
    expect((await service.compute('GET', '/my/roles/old')).json).toMatchObject({
      members: [subuser('bob', false), subuser('carol', true)],
    });
    const defaults = await askOld('POST', '/my/roles/old', { json: { default_members: ['bob'] } });
    expect(defaults.json).toMatchObject({ members: ['bob', 'carol'], default_members: ['bob'] });
    expect((await askOld('POST', '/my/roles/old', { json: { members: ['bob'] } })).json).toMatchObject({ default_members: ['bob'] });
    expect((await askOld('POST', '/my/roles/old', { json: { policies: [] } })).json).toMatchObject({ policies: [], members: ['bob'] });
    expect(await askOld('POST', '/my/roles/old', { json: { members: ['nobody'] } })).toMatchObject(invalid);
  });

  test('an account that is a member stays one beside a sub-user of its login', async () => {
    ids['other'] = await make('users', { login: 'other', email: 'a@b', password: 'secret1234' });
    const member = { type: 'account', id: service.other.id, login: 'other', default: true };
    await make('roles', { name: 'guests', members: [member] });
    const changed = await askOld('POST', '/my/roles/guests', { json: { members: ['other', 'bob'] } });
    expect(changed.json).toMatchObject({ members: ['other', 'bob'], default_members: [] });
    expect((await service.compute('GET', '/my/roles/guests')).json).toMatchObject({
      members: [subuser('other', false), subuser('bob', false), member],
    });
  });

  test('come in forms too', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = Buffer.from('name=form&members=bob&members=carol&default_members=["bob"]&policies=reading');
    const response = await askOld('POST', '/my/roles', { headers, body });
    expect(response.json).toMatchObject({ members: ['bob', 'carol'], default_members: ['bob'], policies: ['reading'] });
  });
});

describe('policies', () => {
  test('create, get by id and name, list, update, delete by id', async () => {
    const rules = ['CAN listkeys AND getkey', 'CAN getuser WHEN requesttime::day = monday'];
    const response = await service.compute('POST', '/my/policies', { json: { name: 'keys', rules, description: 'Keys' } });
    const id = (response.json as { id: string }).id;
    const shown = { id, name: 'keys', rules, description: 'Keys' };
    expect(response).toMatchObject({ status: 201, headers: { location: `/demo/policies/${id}` } });
    expect(response.json).toEqual(shown);
    for (const name of [id, 'keys']) expect((await service.compute('GET', `/my/policies/${name}`)).json).toEqual(shown);
    expect((await service.compute('GET', '/my/policies')).json).toContainEqual(shown);
    const changed = await service.compute('POST', '/my/policies/keys', { json: { rules: 'CAN ping', description: '' } });
    expect(changed.json).toEqual({ id, name: 'keys', rules: ['CAN ping'] });
    expect((await service.compute('POST', `/my/policies/${id}`, { json: { name: 'pings' } })).json).toMatchObject({ name: 'pings' });
    await make('roles', { name: 'pinger', policies: [{ name: 'pings' }] });
    expect(await service.compute('DELETE', '/my/policies/pings')).toMatchObject(missing);
    expect((await service.compute('DELETE', `/my/policies/${id}`)).status).toBe(204);
    expect((await service.compute('GET', '/my/roles/pinger')).json).toMatchObject({ policies: [] });
    for (const method of ['GET', 'DELETE']) expect(await service.compute(method, `/my/policies/${id}`)).toMatchObject(missing);
    expect(await service.compute('POST', `/my/policies/${id}`, { json: { name: 'x' } })).toMatchObject(missing);
  });

  test.each([
    [{}, 'MissingParameter', 'name, rules'],
    [{ name: 'a' }, 'MissingParameter', 'rules'],
    [{ name: 'a', rules: [] }, 'InvalidArgument', 'rules'],
    [{ name: 'a', rules: ['CAN'] }, 'InvalidArgument', 'rules[0]'],
    [{ name: 'a', rules: ['CAN ping', 'CAN getkey getuser listkeys'] }, 'InvalidArgument', 'rules[1]'],
    [{ name: 'a', rules: ['CAN ping WHEN colour = red'] }, 'InvalidArgument', 'colour'],
    [{ name: 'a', rules: ['CAN ping', 'CAN ping'] }, 'InvalidArgument', 'same'],
    [{ name: 'a', rules: [7] }, 'InvalidArgument', 'rules[0]'],
    [{ name: 'reading', rules: ['CAN ping'] }, 'InvalidArgument', 'reading'],
    [{ name: 'a/b', rules: ['CAN ping'] }, 'InvalidArgument', 'name'],
  ])('%j: %s', async (json, code, words) => {
    const response = await service.compute('POST', '/my/policies', { json });
    expect(response).toMatchObject({ status: 409, code });
    expect(response.text).toContain(words);
    expect(await service.compute('GET', '/my/policies/a')).toMatchObject(missing);
  });

  test('a refused update changes nothing', async () => {
    const json = { name: 'other', rules: ['CAN listkeys', 'nonsense'] };
    expect(await service.compute('POST', '/my/policies/reading', { json })).toMatchObject(invalid);
    expect(await service.compute('POST', '/my/policies/reading', { json: { name: 'writing' } })).toMatchObject(invalid);
    expect((await service.compute('GET', '/my/policies/reading')).json).toMatchObject({ rules: ['CAN listkeys'] });
  });
});

describe.each(['roles', 'policies'] as const)('%s whose name is a UUID', (collection) => {
  const fields = collection === 'policies' ? { rules: ['CAN ping'] } : {};

  test('are found by id, then by name, and deleted by id only', async () => {
    const id = await make(collection, { name: uuid, ...fields });
    const other = await make(collection, { name: `other of ${collection}`, ...fields });
    const path = `/my/${collection}/${uuid}`;
    expect((await service.compute('GET', path)).json).toMatchObject({ id, name: uuid });
    expect(await service.compute('DELETE', path)).toMatchObject(missing);
    expect((await service.compute('POST', path, { json: { name: other } })).json).toMatchObject({ id, name: other });
    expect((await service.compute('GET', `/my/${collection}/${other}`)).json).toMatchObject({ id: other });
    expect((await service.compute('DELETE', `/my/${collection}/${id.toUpperCase()}`)).status).toBe(204);
    expect((await service.compute('GET', `/my/${collection}/${other.toUpperCase()}`)).json).toMatchObject({ id: other });
  });
});
