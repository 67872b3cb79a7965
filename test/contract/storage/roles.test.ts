import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Headers } from '../../../src/api/message.ts';
import { addUser, createTestService, signHeaders, type TestReply, type TestService } from '../../support/service.ts';

let service: TestService;
const directory: Headers = { 'content-type': 'application/json; type=directory' };

function ask(method: string, target: string, headers: Headers = {}, body?: string): Promise<TestReply> {
  return service.storage(method, target, { headers, ...(body !== undefined && { body: Buffer.from(body) }) });
}

/** As the sub-user bob: a member of `readers` by default, of `writers` when asked for. */
function askAsBob(method: string, target: string, headers: Headers = {}, body?: string): Promise<TestReply> {
  const signed = signHeaders('storage', { key: service.key, keyId: `/demo/bob/keys/${service.key.fingerprint}` });
  return service.storage(method, target, {
    headers: { ...signed, ...headers },
    signing: false,
    ...(body !== undefined && { body: Buffer.from(body) }),
  });
}

async function make(collection: string, json: object): Promise<string> {
  const { json: made, status, text } = await service.compute('POST', `/my/${collection}`, { json });
  expect(status, text).toBe(201);
  return (made as { id: string }).id;
}

beforeAll(async () => {
  service = await createTestService();
  await addUser(service.store, service.account, 'bob', service.key);
  await make('policies', { name: 'reading', rules: ['CAN getobject AND listdirectory'] });
  await make('policies', {
    name: 'writing',
    rules: ['CAN putobject, putdirectory, deleteobject, putsnaplink, createmultipartupload AND commitmultipartupload'],
  });
  await make('policies', {
    name: 'describing',
    rules: ['CAN putmetadata, putobject, putdirectory, putsnaplink, getobject AND commitmultipartupload'],
  });
  await make('policies', { name: 'tagging', rules: ['CAN setroletags'] });
  await make('roles', { name: 'describers', policies: [{ name: 'describing' }], members: [{ type: 'subuser', login: 'bob' }] });
  await make('roles', {
    name: 'taggers',
    policies: [{ name: 'describing' }, { name: 'tagging' }],
    members: [{ type: 'subuser', login: 'bob' }],
  });
  await make('policies', { name: 'making', rules: ['CAN putdirectory'] });
  await make('roles', { name: 'makers', policies: [{ name: 'making' }], members: [{ type: 'subuser', login: 'bob' }] });
  await make('roles', { name: 'readers', policies: [{ name: 'reading' }], members: [{ type: 'subuser', login: 'bob', default: true }] });
  await make('roles', { name: 'writers', policies: [{ name: 'writing' }], members: [{ type: 'subuser', login: 'bob' }] });
  await make('roles', { name: 'strangers' });
  await ask('PUT', '/demo/stor/open', { ...directory, 'role-tag': 'readers, writers' });
  await ask('PUT', '/demo/stor/open/file', {}, 'open');
  await ask('PUT', '/demo/stor/shut', directory);
  await ask('PUT', '/demo/stor/shut/file', {}, 'shut');
});
afterAll(() => service.close());

const denied = { status: 403, code: 'AuthorizationFailed' };
const untagged = { status: 403, code: 'NoMatchingRoleTag' };

describe('role tags', () => {
  test('show in responses, come from the parent, and stay with what is overwritten', async () => {
    const tagsOf = async (target: string): Promise<string | undefined> => (await ask('HEAD', target)).headers['role-tag'];
    expect(await tagsOf('/demo/stor/open')).toBe('readers,writers');
    expect(await tagsOf('/demo/stor/open/file')).toBe('readers,writers');
    expect(await tagsOf('/demo/stor/shut/file')).toBeUndefined();
    await ask('PUT', '/demo/stor/open/deep', directory);
    await ask('PUT', '/demo/stor/open/deep/own', { 'role-tag': 'strangers' }, 'x');
    expect([await tagsOf('/demo/stor/open/deep'), await tagsOf('/demo/stor/open/deep/own')]).toEqual(['readers,writers', 'strangers']);
    await ask('PUT', '/demo/stor/open/deep/own', {}, 'y');
    expect(await tagsOf('/demo/stor/open/deep/own')).toBe('strangers');
    await ask('PUT', '/demo/stor/open/deep/own?metadata=true', { 'role-tag': '' });
    expect(await tagsOf('/demo/stor/open/deep/own')).toBeUndefined();
  });

  test('show to nobody who reads a public object or directory without a signature', async () => {
    await ask('PUT', '/demo/public/tagged', { ...directory, 'role-tag': 'readers' });
    await ask('PUT', '/demo/public/tagged/file', {}, 'open');
    for (const path of ['/demo/public/tagged', '/demo/public/tagged/file'])
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await service.storage(method, path, { signing: false });
        expect([status, headers['role-tag']]).toEqual([200, undefined]);
        expect((await ask(method, path)).headers['role-tag']).toBe('readers');
      }
  });

  test('with an unknown role: 409 InvalidRoleTag, nothing stored', async () => {
    const invalid = { status: 409, code: 'InvalidRoleTag' };
    expect(await ask('PUT', '/demo/stor/open/none', { 'role-tag': 'readers,nobody' }, 'x')).toMatchObject(invalid);
    expect(await ask('PUT', '/demo/stor/open/none', { ...directory, 'role-tag': 'nobody' })).toMatchObject(invalid);
    expect((await ask('GET', '/demo/stor/open/none')).status).toBe(404);
  });

  test('a role that is gone is no tag any more', async () => {
    const id = await make('roles', { name: 'passing' });
    await ask('PUT', '/demo/stor/open/passing', { 'role-tag': 'passing,readers' }, 'x');
    await service.compute('DELETE', `/my/roles/${id}`);
    expect((await ask('HEAD', '/demo/stor/open/passing')).headers['role-tag']).toBe('readers');
  });
});

describe('roles', () => {
  test('default roles read; the header Role activates others instead', async () => {
    expect((await askAsBob('GET', '/demo/stor/open/file')).text).toBe('open');
    expect((await askAsBob('GET', '/demo/stor/open')).status).toBe(200);
    expect(await askAsBob('PUT', '/demo/stor/open/new', {}, 'x')).toMatchObject(denied);
    expect((await askAsBob('PUT', '/demo/stor/open/new', { role: 'writers' }, 'x')).status).toBe(204);
    expect(await askAsBob('GET', '/demo/stor/open/new', { role: 'writers' })).toMatchObject(denied);
    for (const role of ['*', 'readers, writers']) {
      expect((await askAsBob('GET', '/demo/stor/open/new', { role })).status).toBe(200);
      expect((await askAsBob('PUT', '/demo/stor/open/new', { role }, 'y')).status).toBe(204);
    }
    expect(await askAsBob('GET', '/demo/stor/open/file', { role: 'strangers' })).toMatchObject({ status: 409, code: 'InvalidRole' });
    expect(await askAsBob('GET', '/demo/stor/open/file', { role: 'nobody' })).toMatchObject({ status: 409, code: 'InvalidRole' });
    expect(await ask('GET', '/demo/stor/open/file', { role: 'nobody' })).toMatchObject({ status: 409, code: 'InvalidRole' });
  });

  test('without a tag: NoMatchingRoleTag; what is missing is 404 without permission too', async () => {
    expect(await askAsBob('GET', '/demo/stor/shut/file')).toMatchObject(untagged);
    expect(await askAsBob('PUT', '/demo/stor/shut/new', { role: 'writers' }, 'x')).toMatchObject(untagged);
    expect(await askAsBob('DELETE', '/demo/stor/open/file')).toMatchObject(denied);
    expect(await askAsBob('GET', '/demo/stor/shut/none')).toMatchObject({ status: 404, code: 'ResourceNotFound' });
    expect(await askAsBob('PUT', '/demo/stor/none/new', {}, 'x')).toMatchObject({ status: 404, code: 'DirectoryDoesNotExist' });
  });

  test('a link needs leave to read its source', async () => {
    const link = (location: string): Headers => ({ 'content-type': 'application/json; type=link', location, role: '*' });
    expect(await askAsBob('PUT', '/demo/stor/open/link', link('/demo/stor/shut/file'))).toMatchObject(untagged);
    expect((await askAsBob('PUT', '/demo/stor/open/link', link('/demo/stor/open/file'))).status).toBe(204);
    expect((await ask('GET', '/demo/stor/open/link')).text).toBe('open');
  });

  test('a directory in the place of an object needs leave to delete it', async () => {
    await ask('PUT', '/demo/stor/made', { ...directory, 'role-tag': 'makers, writers' });
    await ask('PUT', '/demo/stor/made/file', {}, 'kept');
    const asMaker = { ...directory, role: 'makers' };
    expect(await askAsBob('PUT', '/demo/stor/made/file', asMaker)).toMatchObject(denied);
    expect((await ask('GET', '/demo/stor/made/file')).text).toBe('kept');
    expect((await askAsBob('PUT', '/demo/stor/made/new', asMaker)).status).toBe(204);
    expect((await askAsBob('PUT', '/demo/stor/made/new', asMaker)).status).toBe(204);
    expect((await askAsBob('PUT', '/demo/stor/made/file', { ...directory, role: 'writers' })).status).toBe(204);
  });

  test.each([
    ['an object', 'file', '?metadata=true', {}],
    ['a directory', 'directory', '?metadata=true', {}],
    ['a directory that is put again', 'directory', '', directory],
    ['an object that is put again', 'file', '', {}],
    ['an object that a link replaces', 'file', '', { 'content-type': 'application/json; type=link', location: '/demo/stor/tagged/source' }],
  ] as const)('the tags of %s change for those alone who may set role tags', async (_, name, query, headers) => {
    const tagged = { 'role-tag': 'describers,taggers' };
    await ask('PUT', '/demo/stor/tagged', { ...directory, ...tagged });
    await ask('PUT', '/demo/stor/tagged/directory', { ...directory, ...tagged });
    for (const object of ['file', 'source']) await ask('PUT', `/demo/stor/tagged/${object}`, tagged, 'x');
    const target = `/demo/stor/tagged/${name}`;
    const put = (role: string, tags: string) => askAsBob('PUT', `${target}${query}`, { ...headers, role, 'role-tag': tags });
    const tagsNow = async () => (await ask('HEAD', target)).headers['role-tag'];
    for (const tags of ['describers,taggers,readers', 'readers', '']) expect(await put('describers', tags)).toMatchObject(denied);
    expect(await tagsNow()).toBe('describers,taggers');
    expect((await put('describers', 'taggers,describers')).status).toBe(204);
    expect((await put('taggers', 'taggers,readers')).status).toBe(204);
    expect(await tagsNow()).toBe('taggers,readers');
  });

  test('whoever makes an object tags it; a commit over an object changes its tags for those alone who may set them', async () => {
    await ask('PUT', '/demo/stor/mine', { ...directory, 'role-tag': 'describers,taggers' });
    await ask('PUT', '/demo/uploads', { ...directory, 'role-tag': 'describers,taggers' });
    const commitAs = async (role: string, objectPath: string): Promise<number> => {
      const headers = { 'content-type': 'application/json' };
      const json = JSON.stringify({ objectPath, headers: { 'role-tag': 'readers' } });
      const { partsDirectory } = (await ask('POST', '/demo/uploads', headers, json)).json as { partsDirectory: string };
      return (await askAsBob('POST', `${partsDirectory}/commit`, { ...headers, role }, '{"parts":[]}')).status;
    };
    expect((await askAsBob('PUT', '/demo/stor/mine/new', { role: 'describers', 'role-tag': 'readers' }, 'x')).status).toBe(204);
    expect(await commitAs('describers', '/demo/stor/mine/large')).toBe(201);
    await ask('PUT', '/demo/stor/mine/kept', {}, 'x');
    expect(await commitAs('describers', '/demo/stor/mine/kept')).toBe(403);
    expect(await commitAs('taggers', '/demo/stor/mine/kept')).toBe(201);
  });

  test('a commit needs leave to put the object', async () => {
    await ask('PUT', '/demo/uploads', { ...directory, 'role-tag': 'writers' });
    for (const [target, status] of [
      ['/demo/stor/open/large', 201],
      ['/demo/stor/shut/large', 403],
    ] as const) {
      const headers = { role: 'writers', 'content-type': 'application/json' };
      const created = await askAsBob('POST', '/demo/uploads', headers, JSON.stringify({ objectPath: target }));
      expect(created.status).toBe(201);
      const { partsDirectory } = created.json as { partsDirectory: string };
      expect((await askAsBob('POST', `${partsDirectory}/commit`, headers, '{"parts":[]}')).status).toBe(status);
    }
  });
});
