import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compute } from '../../../src/api/compute.ts';
import { createComputeHandlers } from '../../../src/server/compute/index.ts';
import { apiVersions } from '../../../src/server/http/version.ts';
import { addUser, createEcdsaKey, createRsaKey, createTestService, signAs, type TestService } from '../../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await createTestService();
});
afterAll(() => service.close());

const missing = { status: 404, code: 'ResourceNotFound' };
const invalid = { status: 409, code: 'InvalidArgument' };

test('every operation has a handler', () => {
  const handlers = createComputeHandlers();
  expect(Object.values(handlers).filter((handler) => typeof handler !== 'function')).toEqual([]);
  expect(Object.keys(handlers).sort()).toEqual(Object.keys(compute).sort());
});

test('Ping', async () => {
  expect(await service.compute('GET', '/--ping')).toMatchObject({
    status: 200,
    json: { ping: 'pong', cloudapi: { versions: [...apiVersions] } },
  });
  expect((await service.compute('GET', '/--ping', { signing: false })).status).toBe(401);
});

test.each([
  ['/my/users/none', { email: 'x' }],
  ['/my/roles/none', { name: 'a,b' }],
  ['/my/roles/none', { members: [{ login: 'x' }] }],
  ['/my/policies/none', { rules: [] }],
  ['/my/images/none?action=update', { version: '' }],
])('POST %s %j: a missing resource is 404, whatever the fields are', async (path, json) => {
  expect(await service.compute('POST', path, { json })).toMatchObject(missing);
});

test('ids in upper case, for the resource, its role tags and access', async () => {
  const { account, store } = service;
  const userKey = createRsaKey();
  await addUser(store, account, 'upper', userKey);
  const users = (await service.compute('GET', '/my/users')).json as { id: string }[];
  const image = '04f66d5e-0a32-4af3-a1f9-3bd80f95f0e1';
  const { id: pkg } = (await service.compute('GET', '/my/packages/g1-nano')).json as { id: string };
  const make = async (collection: string, json: object): Promise<string> =>
    ((await service.compute('POST', `/my/${collection}`, { json })).json as { id: string }).id;
  const policy = await make('policies', { name: 'upper', rules: ['CAN getuser, getrole, getpolicy, getimage AND getpackage'] });
  const members = [{ type: 'subuser', id: users[0]?.id.toUpperCase(), default: true }];
  const role = await make('roles', { name: 'upper', policies: [{ id: policy.toUpperCase() }], members });
  const paths = [`users/${users[0]?.id ?? ''}`, `roles/${role}`, `policies/${policy}`, `images/${image}`, `packages/${pkg}`];
  for (const path of paths) {
    const [collection = '', id = ''] = path.split('/');
    const upper = `/my/${collection}/${id.toUpperCase()}`;
    expect((await service.compute('GET', upper)).json, path).toMatchObject({ id });
    const signing = signAs('compute', userKey, 'demo', 'upper');
    expect((await service.compute('GET', upper, { signing })).status, path).toBe(403);
    expect((await service.compute('PUT', upper, { json: { 'role-tag': ['upper'] } })).status, path).toBe(200);
    expect((await service.compute('GET', `/my/${path}`, { signing })).headers['role-tag'], path).toBe('upper');
    expect((await service.compute('GET', upper, { signing })).headers['role-tag'], path).toBe('upper');
  }
  const second = 'B2A6D6B4-0C1E-4A53-8B5A-5F7C1D2E0001';
  const imported = await service.compute('POST', `/my/images?action=import-from-datacenter&datacenter=east-1-2&id=${second}`);
  expect(imported).toMatchObject({ status: 201, json: { id: second.toLowerCase() } });
  expect((await service.compute('DELETE', `/my/images/${second}`)).status).toBe(204);
  expect(await service.compute('GET', `/my/images/${second}`)).toMatchObject(missing);
  for (const path of [`roles/${role}`, `policies/${policy}`, `users/${users[0]?.id ?? ''}`])
    expect((await service.compute('DELETE', `/my/${path.toUpperCase().replace(/^\w+/u, (word) => word.toLowerCase())}`)).status).toBe(204);
  expect((await service.compute('GET', '/my/roles')).json).toEqual([]);
});

describe('account', () => {
  test('GetAccount leaves empty fields out', async () => {
    const { json } = await service.compute('GET', '/my');
    const { id, login, email } = service.account;
    const iso: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/u);
    expect(json).toEqual({ id, login, email, cloud_cns_enabled: false, created: iso, updated: iso });
  });

  test('UpdateAccount changes, clears, and keeps the rest', async () => {
    const response = await service.compute('POST', '/my', { json: { companyName: 'ACME', phone: '1', cloud_cns_enabled: 'true' } });
    expect(response).toMatchObject({ status: 200, json: { companyName: 'ACME', phone: '1', cloud_cns_enabled: true } });
    const cleared = await service.compute('POST', '/my', { json: { phone: '', triton_cns_enabled: false } });
    expect(cleared.json).toMatchObject({ companyName: 'ACME', cloud_cns_enabled: false });
    expect(cleared.json).not.toHaveProperty('phone');
    expect((await service.compute('GET', '/my')).json).toEqual(cleared.json);
  });

  test('UpdateAccount without a known field leaves the date of the last change', async () => {
    const { json } = await service.compute('GET', '/my');
    await sleep(2);
    expect((await service.compute('POST', '/my', { json: { colour: 'red' } })).json).toEqual(json);
    expect((await service.compute('GET', '/my')).json).toEqual(json);
  });

  test.each([{ email: 'nobody' }, { email: '' }, { email: 7 }, { cloud_cns_enabled: 'maybe' }, { city: ['a', 'b'] }])(
    'UpdateAccount %j: 409',
    async (json) => {
      const response = await service.compute('POST', '/my', { json });
      expect(response).toMatchObject(invalid);
      expect(response.text).toContain(Object.keys(json)[0]);
    },
  );

  test('GetAccountLimits is empty', async () => {
    expect(await service.compute('GET', '/my/limits')).toMatchObject({ status: 200, json: [] });
  });

  test('config', async () => {
    const { id } = await service.store.db.selectFrom('networks').selectAll().executeTakeFirstOrThrow();
    expect((await service.compute('GET', '/my/config')).json).toEqual({});
    expect(await service.compute('PUT', '/my/config', { json: { default_network: id } })).toMatchObject({
      status: 200,
      json: { default_network: id },
    });
    expect((await service.compute('GET', '/my/config')).json).toEqual({ default_network: id });
    expect(await service.compute('PUT', '/my/config', { json: { default_network: 'x' } })).toMatchObject(invalid);
    const unknown = '0f8fad5b-d9cb-469f-a165-70867728950e';
    expect(await service.compute('PUT', '/my/config', { json: { default_network: unknown } })).toMatchObject(invalid);
    expect(await service.compute('PUT', '/my/config')).toMatchObject({ status: 409, code: 'MissingParameter' });
  });
});

describe('keys', () => {
  test('create, get by fingerprint and name, list, delete', async () => {
    const { line, fingerprint } = createRsaKey();
    const created = await service.compute('POST', '/my/keys', { json: { name: ' my laptop ', key: line } });
    const shown = { name: 'my laptop', fingerprint, key: line };
    expect(created).toMatchObject({ status: 201, json: shown });
    expect((await service.compute('GET', `/my/keys/${fingerprint}`)).json).toEqual(shown);
    expect((await service.compute('GET', '/my/keys/my%20laptop')).json).toEqual(shown);
    expect((await service.compute('GET', '/my/keys')).json).toContainEqual(shown);
    const deleted = await service.compute('DELETE', `/my/keys/${fingerprint}`);
    expect([deleted.status, deleted.text, deleted.headers['content-length']]).toEqual([204, '', undefined]);
    expect(await service.compute('GET', `/my/keys/${fingerprint}`)).toMatchObject(missing);
    expect(await service.compute('DELETE', `/my/keys/${fingerprint}`)).toMatchObject(missing);
  });

  test('the name is the fingerprint when absent; names may repeat; the same key twice is refused', async () => {
    const [first, second, third] = [createEcdsaKey(), createEcdsaKey(), createEcdsaKey()];
    expect((await service.compute('POST', '/my/keys', { json: { key: first.line } })).json).toMatchObject({ name: first.fingerprint });
    for (const { line } of [second, third])
      expect((await service.compute('POST', '/my/keys', { json: { name: 'twin', key: line } })).status).toBe(201);
    const again = await service.compute('POST', '/my/keys', { json: { name: 'again', key: first.line } });
    expect(again).toMatchObject(invalid);
    expect(again.text).toContain(first.fingerprint);
  });

  test('a fingerprint is never the name of another key: not when that one is registered, read or deleted', async () => {
    const [first, second] = [createEcdsaKey(), createEcdsaKey()];
    const path = `/my/keys/${second.fingerprint}`;
    expect((await service.compute('POST', '/my/keys', { json: { name: second.fingerprint, key: first.line } })).status).toBe(201);
    for (const method of ['GET', 'DELETE']) expect(await service.compute(method, path)).toMatchObject(missing);
    expect((await service.compute('POST', '/my/keys', { json: { key: second.line } })).status).toBe(201);
    expect((await service.compute('GET', path)).json).toMatchObject({ key: second.line });
    expect((await service.compute('DELETE', path)).status).toBe(204);
    expect((await service.compute('GET', `/my/keys/${first.fingerprint}`)).json).toMatchObject({ name: second.fingerprint });
  });

  test('ssh-keygen agrees about the fingerprint', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'cloud-keys-'));
    const file = join(dir, 'id');
    try {
      execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-b', '384', '-N', '', '-C', 'me@host', '-f', file]);
      const shown = execFileSync('ssh-keygen', ['-l', '-E', 'md5', '-f', `${file}.pub`]).toString();
      const { json } = await service.compute('POST', '/my/keys', { json: { key: readFileSync(`${file}.pub`, 'utf8') } });
      expect(shown).toContain(`MD5:${(json as { fingerprint: string }).fingerprint} `);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test('without key: 409 MissingParameter naming it', async () => {
    const response = await service.compute('POST', '/my/keys', { json: { name: 'x' } });
    expect(response).toMatchObject({ status: 409, code: 'MissingParameter' });
    expect(response.text).toContain('key is a required parameter');
  });

  test.each([
    'ssh-rsa',
    'ssh-rsa AAAA',
    'nonsense at all',
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me',
  ])('key %j is invalid: 409', async (key) => {
    const response = await service.compute('POST', '/my/keys', { json: { key } });
    expect(response).toMatchObject(invalid);
    expect(response.text).toContain('key is invalid');
  });

  test.each(['a/b', 'x'.repeat(129), 'tab\there'])('name %j: 409', async (name) => {
    expect(await service.compute('POST', '/my/keys', { json: { name, key: createEcdsaKey().line } })).toMatchObject(invalid);
  });

  test('an attestation must be about the key', async () => {
    const { line } = createEcdsaKey();
    expect(await service.compute('POST', '/my/keys', { json: { key: line, attestation: ['nonsense'] } })).toMatchObject(invalid);
    expect(await service.compute('POST', '/my/keys', { json: { key: line, attestation: 7 } })).toMatchObject(invalid);
  });
});

describe('datacenters and services', () => {
  test('list and redirection', async () => {
    expect((await service.compute('GET', '/my/datacenters')).json).toEqual({ 'east-1': 'https://east-1.test' });
    expect((await service.compute('GET', '/my/services')).json).toEqual({ storage: 'https://storage.test' });
    const response = await service.compute('GET', '/my/datacenters/east-1');
    expect(response).toMatchObject({ status: 302, code: 'ResourceMoved' });
    expect(response.headers['location']).toBe('https://east-1.test');
    expect(await service.compute('GET', '/my/datacenters/nowhere')).toMatchObject(missing);
  });
});

describe('packages', () => {
  async function names(query: string): Promise<string[]> {
    const { json } = await service.compute('GET', `/my/packages${query}`);
    return (json as { name: string }[]).map((row) => row.name);
  }

  test.each([
    ['?name=g1-*', ['g1-medium', 'g1-micro', 'g1-nano', 'g1-small']],
    ['?name=*m*l*&memory=1024', ['g1-small', 'l1-small']],
    ['?name=g1', []],
    ['?group=machines&vcpus=2', ['b1-medium', 'k1-medium']],
    ['?brand=b*', ['b1-flex', 'b1-medium']],
    ['?flexible_disk=true', ['b1-flex']],
    ['?version=2.*', []],
    ['?disk=5120&lwps=4000&swap=512', ['g1-nano']],
  ])('%s', async (query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  test('all, one by id and name, none', async () => {
    expect((await names('')).length).toBe(10);
    const byName = await service.compute('GET', '/my/packages/g1-small');
    const { id, name } = byName.json as { id: string; name: string };
    expect(name).toBe('g1-small');
    expect((await service.compute('GET', `/my/packages/${id}`)).json).toEqual(byName.json);
    expect(await service.compute('GET', '/my/packages/none')).toMatchObject(missing);
    expect(await service.compute('GET', '/my/packages?memory=much')).toMatchObject(invalid);
  });

  test('by name the highest version', async () => {
    await service.store.write(async (transaction) => {
      const row = await transaction.selectFrom('packages').selectAll().where('name', '=', 'g1-nano').executeTakeFirstOrThrow();
      const older = { ...row, id: '0f8fad5b-d9cb-469f-a165-708677289500', name: 'many', version: '1.9.0' };
      const others = [older, { ...older, id: '0f8fad5b-d9cb-469f-a165-708677289502', version: '1.10.0' }];
      await transaction.insertInto('packages').values(others).execute();
    });
    const { json } = await service.compute('GET', '/my/packages/many');
    expect(json).toMatchObject({ version: '1.10.0' });
    // What is tagged by the name, and whether a sub-user may have it, is about the same one.
    await service.compute('POST', '/my/roles', { json: { name: 'tagger' } });
    await service.compute('PUT', '/my/packages/many', { json: { 'role-tag': ['tagger'] } });
    expect((await service.compute('GET', `/my/packages/${(json as { id: string }).id}`)).headers['role-tag']).toBe('tagger');
  });
});

describe('images', () => {
  interface Shown {
    id: string;
    name: string;
    published_at: string;
    state: string;
  }

  async function list(query: string): Promise<Shown[]> {
    const { json, status } = await service.compute('GET', `/my/images${query}`);
    expect(status).toBe(200);
    return json as Shown[];
  }

  test('only active ones, the oldest first', async () => {
    const images = await list('');
    expect(images.length).toBe(10);
    expect(images.every((image) => image.state === 'active')).toBe(true);
    const dates = images.map((image) => image.published_at);
    expect(dates).toEqual([...dates].sort());
    expect((await list('?state=all')).length).toBe(11);
    expect((await list('?state=disabled')).length).toBe(1);
  });

  test.each([
    ['?name=base-64', 2],
    ['?name=base-64&version=25.2.0', 1],
    ['?os=linux&type=zvol', 1],
    ['?public=false', 0],
    ['?public=true', 10],
    ['?owner=0f8fad5b-d9cb-469f-a165-70867728950e', 0],
  ])('%s', async (query, count) => {
    expect((await list(query)).length).toBe(count);
  });

  test('an owner that is not a UUID is refused', async () => {
    expect(await service.compute('GET', '/my/images?owner=demo')).toMatchObject(invalid);
    expect(await service.second('GET', '/my/images?owner=demo')).toMatchObject(invalid);
  });

  test('one, none, and a private one of another account', async () => {
    const [first] = await list('?name=minimal-64');
    const { json } = await service.compute('GET', `/my/images/${first?.id ?? ''}`);
    expect(json).toEqual(first);
    expect(json).toMatchObject({ files: [{ compression: 'gzip' }], public: true, type: 'zone-dataset', requirements: {} });
    expect(await service.compute('GET', '/my/images/none')).toMatchObject(missing);
    const id = '0f8fad5b-d9cb-469f-a165-708677289501';
    await service.store.write(async (transaction) => {
      const row = await transaction.selectFrom('images').selectAll().executeTakeFirstOrThrow();
      await transaction
        .insertInto('images')
        .values({ ...row, id, public: 0, owner: service.other.id, acl: '[]' })
        .execute();
    });
    expect(await service.compute('GET', `/my/images/${id}`)).toMatchObject(missing);
    await service.store.write((transaction) =>
      transaction
        .updateTable('images')
        .set({ acl: JSON.stringify([service.account.id]) })
        .where('id', '=', id)
        .execute(),
    );
    expect((await service.compute('GET', `/my/images/${id}`)).status).toBe(200);
  });
});
