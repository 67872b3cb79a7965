import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Headers } from '../../../src/api/message.ts';
import { createTestStorage, directory, link, md5Of, type TestStorage } from './harness.ts';

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
  await service.mkdir('/demo/stor/d');
});
afterAll(() => service.close());

async function linkTo(target: string, location: string): Promise<[number, string | undefined]> {
  const { status, code } = await service.ask('PUT', target, { headers: link(location) });
  return [status, code];
}

describe('putSnapLink', () => {
  test('204 with the etag of the source; lists as an object with its size and MD5', async () => {
    const etag = await service.put('/demo/stor/d/source', 'hello', { 'content-type': 'text/plain', 'm-a': '1', 'durability-level': '3' });
    const put = await service.ask('PUT', '/demo/stor/d/name', { headers: link('/demo/stor/d/source') });
    expect([put.status, put.headers['etag'], 'last-modified' in put.headers]).toEqual([204, etag, true]);
    const [name, source] = await service.list('/demo/stor/d');
    expect({ ...name, mtime: '', name: '' }).toEqual({ ...source, mtime: '', name: '' });
    expect(name).toMatchObject({ type: 'object', etag, size: 5, contentMD5: md5Of('hello') });
    const got = await service.ask('GET', '/demo/stor/d/name');
    expect(got).toMatchObject({ text: 'hello', headers: { 'content-type': 'text/plain', 'm-a': '1', 'durability-level': '3', etag } });
  });

  test('overwriting or deleting the source leaves it untouched; the bytes go with the last name', async () => {
    const before = await service.countContents();
    await service.put('/demo/stor/one', 'first');
    expect(await linkTo('/demo/stor/two', '/demo/stor/one')).toEqual([204, undefined]);
    expect(await linkTo('/demo/stor/three', '/demo/stor/two')).toEqual([204, undefined]);
    expect(await service.countContents()).toBe(before + 1);
    await service.put('/demo/stor/one', 'second');
    expect((await service.ask('GET', '/demo/stor/two')).text).toBe('first');
    await service.ask('DELETE', '/demo/stor/one');
    await service.ask('DELETE', '/demo/stor/two');
    expect((await service.ask('GET', '/demo/stor/three')).text).toBe('first');
    expect(await linkTo('/demo/stor/three', '/demo/stor/three')).toEqual([204, undefined]);
    expect((await service.ask('GET', '/demo/stor/three')).text).toBe('first');
    await service.put('/demo/stor/three', undefined, directory);
    expect(await service.countContents()).toBe(before);
  });

  test('the list of origins * stays under public; any other list is inherited', async () => {
    const originsOf = async (target: string) => (await service.ask('HEAD', target)).headers['access-control-allow-origin'];
    for (const [origins, ofPrivate, ofPublic] of [
      [undefined, undefined, '*'],
      ['*', undefined, '*'],
      ['https://a.test', 'https://a.test', 'https://a.test'],
    ]) {
      await service.put('/demo/public/open', 'x', origins === undefined ? {} : { 'access-control-allow-origin': origins });
      for (const [target, expected] of [
        ['/demo/stor/closed', ofPrivate],
        ['/demo/public/also-open', ofPublic],
      ] as const) {
        expect(await linkTo(target, '/demo/public/open')).toEqual([204, undefined]);
        expect([target, await originsOf(target)]).toEqual([target, expected]);
      }
    }
    await service.put('/demo/stor/any', 'x', { 'access-control-allow-origin': '*' });
    expect(await linkTo('/demo/stor/any-link', '/demo/stor/any')).toEqual([204, undefined]);
    expect(await originsOf('/demo/stor/any-link')).toBe('*');
  });

  test('over an object: its bytes go', async () => {
    await service.put('/demo/stor/new', 'new');
    await service.put('/demo/stor/old', 'old');
    const before = await service.countContents();
    expect(await linkTo('/demo/stor/old', '/demo/stor/new')).toEqual([204, undefined]);
    expect((await service.ask('GET', '/demo/stor/old')).text).toBe('new');
    expect(await service.countContents()).toBe(before - 1);
  });

  test('sources with names that need encoding, encoded or raw', async () => {
    const name = 'ä 100% "q" 🎈';
    await service.put(`/demo/stor/${encodeURIComponent(name)}`, 'odd');
    const raw = Buffer.from('/demo/stor/ä b').toString('latin1');
    await service.put(`/demo/stor/${encodeURIComponent('ä b')}`, 'raw');
    expect(await linkTo('/demo/stor/l1', `/demo/stor/${encodeURIComponent(name)}`)).toEqual([204, undefined]);
    expect(await linkTo('/demo/stor/l2', raw)).toEqual([204, undefined]);
    expect((await service.ask('GET', '/demo/stor/l1')).text).toBe('odd');
    expect((await service.ask('GET', '/demo/stor/l2')).text).toBe('raw');
  });

  test('conditions: 412 PreconditionFailed or 409 ConcurrentRequest, and the target stays', async () => {
    const source = await service.put('/demo/stor/wanted', 'wanted');
    const etag = await service.put('/demo/stor/guarded', 'old');
    const ask = (target: string, condition: Headers) =>
      service.answerOf('PUT', target, { headers: { ...link('/demo/stor/wanted'), ...condition } });
    for (const condition of [{ 'if-none-match': '*' }, { 'if-match': etag }, { 'if-none-match': etag }])
      expect([condition, ...(await ask('/demo/stor/guarded', condition))]).toEqual([condition, 412, 'PreconditionFailed']);
    expect(await ask('/demo/stor/guarded', { 'if-match': '' })).toEqual([409, 'ConcurrentRequest']);
    expect(await ask('/demo/stor/nothing', { 'if-match': '*' })).toEqual([412, 'PreconditionFailed']);
    expect((await service.ask('GET', '/demo/stor/guarded')).text).toBe('old');
    expect(await ask('/demo/stor/guarded', { 'if-match': source })).toEqual([204, undefined]);
    expect(await ask('/demo/stor/fresh', { 'if-none-match': '*' })).toEqual([204, undefined]);
  });

  test('no Location: 400 LocationRequired', async () => {
    const { status, code } = await service.ask('PUT', '/demo/stor/l', { headers: { 'content-type': 'application/json; type=link' } });
    expect([status, code]).toEqual([400, 'LocationRequired']);
    expect(await linkTo('/demo/stor/l', ' ')).toEqual([400, 'LocationRequired']);
  });

  test.each([
    ['source missing', '/demo/stor/l', '/demo/stor/none', 404, 'SourceObjectNotFound'],
    ['source below uploads', '/demo/stor/l', '/demo/uploads/abc/x/0', 400, 'InvalidResource'],
    ['source a directory', '/demo/stor/l', '/demo/stor/d', 400, 'LinkNotObject'],
    ['over a directory', '/demo/stor/d', '/demo/stor/new', 400, 'OperationNotAllowedOnDirectory'],
    ['parent missing', '/demo/stor/none/l', '/demo/stor/new', 404, 'DirectoryDoesNotExist'],
    ['parent an object', '/demo/stor/new/l', '/demo/stor/new', 400, 'ParentNotDirectory'],
    ['on a root', '/demo/stor', '/demo/stor/new', 400, 'OperationNotAllowedOnRootDirectory'],
    ['source of another account', '/demo/stor/l', '/other/stor/x', 403, 'AuthorizationFailed'],
    ['public source of another account, missing', '/demo/stor/l', '/other/public/x', 404, 'SourceObjectNotFound'],
    ['source with ..', '/demo/stor/l', '/demo/stor/../x', 400, 'InvalidResource'],
    ['source not a path', '/demo/stor/l', 'demo/stor/new', 400, 'InvalidResource'],
    ['source not UTF-8', '/demo/stor/l', '/demo/stor/%ff', 400, 'InvalidResource'],
  ])('%s', async (_, target, location, status, code) => {
    expect(await linkTo(target, location)).toEqual([status, code]);
  });
});
