import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestStorage, directory, untouched, type TestStorage } from './harness.ts';

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
});
afterAll(() => service.close());

async function answerOf(method: string, target: string, headers = {}): Promise<[number, string | undefined]> {
  const { status, code } = await service.ask(method, target, { headers });
  return [status, code];
}

describe('putDirectory', () => {
  test('creates, and does so again without harm', async () => {
    expect(await answerOf('PUT', '/demo/stor/a', directory)).toEqual([204, undefined]);
    await service.put('/demo/stor/a/x', 'x');
    expect(await answerOf('PUT', '/demo/stor/a', directory)).toEqual([204, undefined]);
    expect((await service.list('/demo/stor/a')).map(({ name }) => name)).toEqual(['x']);
  });

  test('parent missing: 404 DirectoryDoesNotExist', async () => {
    expect(await answerOf('PUT', '/demo/stor/none/b', directory)).toEqual([404, 'DirectoryDoesNotExist']);
  });

  test('parent is an object: 400 ParentNotDirectory', async () => {
    await service.put('/demo/stor/file', 'x');
    expect(await answerOf('PUT', '/demo/stor/file/b', directory)).toEqual([400, 'ParentNotDirectory']);
  });

  test('over an object: the object becomes a directory and its bytes go', async () => {
    const before = await service.countContents();
    await service.put('/demo/stor/turns', 'x');
    const { 'result-set-size': size } = (await service.ask('GET', '/demo/stor')).headers;
    expect(await answerOf('PUT', '/demo/stor/turns', directory)).toEqual([204, undefined]);
    expect(await service.list('/demo/stor/turns')).toEqual([]);
    expect((await service.ask('GET', '/demo/stor')).headers['result-set-size']).toBe(size);
    expect(await service.countContents()).toBe(before);
  });

  test.each(['stor', 'public', 'jobs', 'uploads', 'reports'])('on the root %s: 204', async (root) => {
    expect(await answerOf('PUT', `/demo/${root}`, directory)).toEqual([204, undefined]);
  });

  test.each(['/demo', '/demo/elsewhere'])('on %s: 400 OperationNotAllowedOnRootDirectory', async (target) => {
    expect(await answerOf('PUT', target, directory)).toEqual([400, 'OperationNotAllowedOnRootDirectory']);
  });

  test('1,000,000 entries: 409 DirectoryLimitExceeded for another, not for one that is there', async () => {
    await service.mkdir('/demo/stor/full');
    await service.put('/demo/stor/full/old', 'x');
    const { db } = service.store;
    await db.updateTable('entries').set({ children: 1_000_000 }).where('parent', '=', '/demo/stor').where('name', '=', 'full').execute();
    expect(await answerOf('PUT', '/demo/stor/full/new', directory)).toEqual([409, 'DirectoryLimitExceeded']);
    const body = untouched();
    expect((await service.ask('PUT', '/demo/stor/full/new', { body })).code).toBe('DirectoryLimitExceeded');
    expect(body.read).toBe(false);
    await service.put('/demo/stor/full/old', 'y');
    expect(await answerOf('PUT', '/demo/stor/full/new?metadata=true')).toEqual([404, 'ResourceNotFound']);
  });

  test('keeps its headers unless new ones come', async () => {
    await service.put('/demo/stor/tagged', undefined, { ...directory, 'm-owner': 'me' });
    await service.mkdir('/demo/stor/tagged');
    expect((await service.ask('HEAD', '/demo/stor/tagged')).headers).toMatchObject({ 'm-owner': 'me', 'result-set-size': '0' });
    await service.put('/demo/stor/tagged', undefined, { ...directory, 'm-team': 'we' });
    const { headers } = await service.ask('GET', '/demo/stor/tagged');
    expect(headers).toMatchObject({ 'm-team': 'we', 'content-type': 'application/x-json-stream; type=directory' });
    expect(headers).not.toHaveProperty('m-owner');
  });

  test('a role tag that no role has: 409 InvalidRoleTag', async () => {
    expect(await answerOf('PUT', '/demo/stor/roled', { ...directory, 'role-tag': 'nobody' })).toEqual([409, 'InvalidRoleTag']);
  });
});

describe('deleteDirectory', () => {
  test('204, then 404 ResourceNotFound', async () => {
    await service.mkdir('/demo/stor/gone');
    expect(await answerOf('DELETE', '/demo/stor/gone')).toEqual([204, undefined]);
    expect(await answerOf('DELETE', '/demo/stor/gone')).toEqual([404, 'ResourceNotFound']);
  });

  test('non-empty: 400 DirectoryNotEmpty', async () => {
    await service.mkdir('/demo/stor/held');
    await service.put('/demo/stor/held/x', 'x');
    expect(await answerOf('DELETE', '/demo/stor/held')).toEqual([400, 'DirectoryNotEmpty']);
    await service.ask('DELETE', '/demo/stor/held/x');
    expect(await answerOf('DELETE', '/demo/stor/held')).toEqual([204, undefined]);
  });

  test.each(['/demo', '/demo/', '/demo/stor', '/demo/stor/', '/demo/public', '/demo/uploads'])(
    '%s: 400 OperationNotAllowedOnRootDirectory',
    async (target) => {
      expect(await answerOf('DELETE', target)).toEqual([400, 'OperationNotAllowedOnRootDirectory']);
    },
  );
});

describe('listDirectory', () => {
  test('the account lists its roots, marker left out', async () => {
    const names = async (target: string) => (await service.list(target)).map(({ name }) => name);
    expect(await names('/demo')).toEqual(['jobs', 'public', 'reports', 'stor', 'uploads']);
    expect(await names('/demo?marker=public')).toEqual(['reports', 'stor', 'uploads']);
    expect((await service.ask('GET', '/demo')).headers['result-set-size']).toBe('5');
  });

  test('records carry what the specification names, and what deployed services add', async () => {
    await service.mkdir('/demo/stor/records');
    await service.mkdir('/demo/stor/records/d');
    const headers = { 'content-type': 'text/plain', 'durability-level': '3' };
    const etag = await service.put('/demo/stor/records/o', 'hello', headers);
    const mtime: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(await service.list('/demo/stor/records')).toEqual([
      { name: 'd', type: 'directory', mtime },
      { name: 'o', type: 'object', mtime, etag, size: 5, contentType: 'text/plain', contentMD5: 'XUFAKrxLKna5cZ2REBfFkg==', durability: 3 },
    ]);
  });

  test('filters, orders and counts', async () => {
    await service.mkdir('/demo/stor/mixed');
    for (const name of ['b', 'd']) await service.mkdir(`/demo/stor/mixed/${name}`);
    for (const name of ['c', 'a']) await service.put(`/demo/stor/mixed/${name}`, name);
    const times = { b: 3, d: 1, c: 2, a: 1 };
    for (const [name, mtime] of Object.entries(times)) {
      await service.store.db
        .updateTable('entries')
        .set({ mtime })
        .where('parent', '=', '/demo/stor/mixed')
        .where('name', '=', name)
        .execute();
    }
    const names = async (query: string) => (await service.list(`/demo/stor/mixed?${query}`)).map(({ name }) => name).join('');
    expect(await names('')).toBe('abcd');
    expect(await names('dir')).toBe('bd');
    expect(await names('obj')).toBe('ac');
    expect(await names('sort_order=reverse')).toBe('dcba');
    expect(await names('sort=mtime')).toBe('adcb');
    expect(await names('sort=mtime&sort_order=reverse&limit=2')).toBe('bc');
    expect(await names('sort=mtime&marker=d')).toBe('dcb');
    expect(await names('sort=mtime&sort_order=reverse&marker=c')).toBe('cda');
    expect(await names('sort=none&limit=3')).toBe('abc');
    expect(await names('marker=bb')).toBe('cd');
    expect(await names('marker=c&sort_order=reverse')).toBe('cba');
    const { headers, text } = await service.ask('GET', '/demo/stor/mixed?dir=&limit=1');
    expect([headers['result-set-size'], text.split('\n').length]).toEqual(['4', 2]);
  });

  test.each([
    'limit=0',
    'limit=1025',
    'limit=-1',
    'limit=x',
    'limit=1.5',
    'sort=size',
    'sort_order=up',
    'sort=mtime&marker=nothing',
    'limit=1&marker=%zz',
    'marker=%FF',
    'other=%',
    '%c0=1',
  ])('%s: 400 InvalidArgumentError', async (query) => {
    expect(await answerOf('GET', `/demo/stor?${query}`)).toEqual([400, 'InvalidArgumentError']);
  });

  test('limits from 1 to 1024; 1000 when none is given; every page is reached by marker, in the order of UTF-8 bytes', async () => {
    await service.mkdir('/demo/stor/big');
    await service.store.write(async (transaction) => {
      const rows = Array.from({ length: 20_000 }, (_, index) => ({ ...emptyRow, name: `n${String(index).padStart(5, '0')}` }));
      for (let start = 0; start < rows.length; start += 1000) {
        await transaction
          .insertInto('entries')
          .values(rows.slice(start, start + 1000))
          .execute();
      }
    });
    expect(await service.list('/demo/stor/big')).toHaveLength(1000);
    expect(await service.list('/demo/stor/big?limit=1024')).toHaveLength(1024);
    expect(await service.list('/demo/stor/big?limit=1')).toHaveLength(1);
    const seen: string[] = [];
    for (let marker = ''; ; marker = seen.at(-1) ?? '') {
      const names = (await service.list(`/demo/stor/big?marker=${marker}`)).map(({ name }) => String(name));
      const added = names.filter((name) => name !== marker);
      if (added.length === 0) break;
      seen.push(...added);
    }
    expect(seen).toHaveLength(20_000);
    expect(seen).toEqual([...new Set(seen)].sort());
  });

  test('HEAD answers the same headers and no body', async () => {
    const { status, headers, text } = await service.ask('HEAD', '/demo/stor/mixed');
    expect([status, headers['result-set-size'], headers['content-type'], text]).toEqual([
      200,
      '4',
      'application/x-json-stream; type=directory',
      '',
    ]);
  });

  test('missing: 404 ResourceNotFound', async () => {
    expect(await answerOf('GET', '/demo/stor/nothing/at/all')).toEqual([404, 'ResourceNotFound']);
  });
});

const emptyRow = {
  parent: '/demo/stor/big',
  type: 'directory' as const,
  etag: null,
  mtime: 0,
  size: null,
  md5: null,
  content: null,
  copies: null,
  headers: '{}',
  role_tags: '[]',
  children: 0,
};

describe('paths', () => {
  test('duplicate and trailing slashes are dropped', async () => {
    await service.put('//demo///stor//slashes/', 'x');
    expect((await service.ask('GET', '/demo/stor/slashes')).text).toBe('x');
  });

  test.each([
    '/demo/stor/%2e%2e/x',
    '/demo/stor/../x',
    '/demo/stor/./x',
    '/demo/stor/.',
    '/demo/stor/a%00b',
    '/demo/stor/%ff',
    '/demo/stor/%zz',
  ])('%s: 400 InvalidResource', async (target) => {
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect([method, ...(await answerOf(method, target))]).toEqual([method, 400, 'InvalidResource']);
  });

  const names = [
    'with space',
    '100%',
    '%41',
    `quo"te'd`,
    'back\\slash',
    'c\rr',
    'new\nline',
    'tab\t',
    '#hash?query&a=b+c',
    '🎈',
    'ä',
    'a\u0308',
    '-rf',
    '~',
    '…',
    '\ufffe',
    'x'.repeat(300),
    'ü'.repeat(512),
  ];
  test('names round-trip and are ordered by their UTF-8 bytes', async () => {
    await service.mkdir('/demo/stor/names');
    for (const name of names) await service.put(`/demo/stor/names/${encodeURIComponent(name)}`, name);
    for (const name of names) expect((await service.ask('GET', `/demo/stor/names/${encodeURIComponent(name)}`)).text).toBe(name);
    const listed = (await service.list('/demo/stor/names')).map(({ name }) => String(name));
    expect(listed).toEqual([...names].sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right))));
    const marked = await service.list(`/demo/stor/names?marker=${encodeURIComponent('🎈')}&limit=1`);
    expect(marked.map(({ name }) => name)).toEqual(['🎈']);
    for (const name of names) expect(await answerOf('DELETE', `/demo/stor/names/${encodeURIComponent(name)}`)).toEqual([204, undefined]);
    expect(await answerOf('DELETE', '/demo/stor/names')).toEqual([204, undefined]);
  });

  test('names of more than 1,024 bytes: 400 InvalidResource', async () => {
    expect(await answerOf('PUT', `/demo/stor/${encodeURIComponent('ü'.repeat(513))}`)).toEqual([400, 'InvalidResource']);
  });
});
