import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chunked, createTestStorage, directory, link, md5Of, untouched, type TestStorage } from './harness.ts';
import { commit, commitRefusalOf, create, invalid, putParts, stateOf, wrongState } from './upload-steps.ts';

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
});
afterAll(() => service.close());

describe('createMultipartUpload', () => {
  test('201 with an id and the parts directory under its first three characters', async () => {
    const headers = { 'content-type': 'text/plain', 'M-Colour': 'red', 'durability-level': 3, 'content-length': 1 };
    const before = Date.now();
    const upload = await create(service, '//demo/stor//film', headers);
    expect(upload.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(upload.partsDirectory).toBe(`/demo/uploads/${upload.id.slice(0, 3)}/${upload.id}`);
    const state = await stateOf(service, upload);
    expect(state).toEqual({
      ...upload,
      state: 'created',
      targetObject: '/demo/stor/film',
      headers: { 'content-type': 'text/plain', 'm-colour': 'red', 'durability-level': 3, 'content-length': 1 },
      numCopies: 3,
      creationTimeMs: expect.any(Number) as unknown,
    });
    expect(Number(state['creationTimeMs'])).toBeGreaterThanOrEqual(before);
    expect(await service.list(upload.partsDirectory)).toEqual([]);
    expect((await service.list('/demo/uploads')).map(({ name }) => name)).toContain(upload.id.slice(0, 3));
  });

  test.each([
    [{}],
    [{ objectPath: '' }],
    [{ objectPath: 'stor/x' }],
    [{ objectPath: '/demo/stor/x', headers: { 'if-match': '*' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'if-modified-since': 'x' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'x-unknown': '1' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'm-a': { b: 1 } } }],
    [{ objectPath: '/demo/stor/x', headers: { 'm-a': 'x'.repeat(4096) } }],
    [{ objectPath: '/demo/stor/x', headers: { 'content-md5': 'x' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'content-length': '-1' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'content-length': '99999999999999999999999' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'M-A': '1', 'm-a': '2' } }],
    // What no header can have would make an object that cannot be read.
    [{ objectPath: '/demo/stor/x', headers: { 'm-a': 'a\nb' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'm-a': '\u20ac' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'm-a b': 'x' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'content-type': 'a\r\nset-cookie: b' } }],
  ])('%j: 409 MultipartUploadInvalidArgument', async (json) => {
    expect(await service.answerOf('POST', '/demo/uploads', { json })).toEqual(invalid);
  });

  test.each([
    ['/demo/stor/../x', {}, 400, 'InvalidResource'],
    ['/nobody/stor/x', {}, 403, 'AccountDoesNotExist'],
    ['/demo/stor/x', { 'durability-level': 7 }, 409, 'MultipartUploadInvalidArgumentError'],
    ['/demo/stor/x', { 'role-tag': 'nobody' }, 409, 'InvalidRoleTag'],
    ['/demo/stor/x', { 'content-disposition': ';' }, 400, 'BadRequest'],
  ])('%s with %j: %i %s', async (objectPath, headers, status, code) => {
    expect(await service.answerOf('POST', '/demo/uploads', { json: { objectPath, headers } })).toEqual([status, code]);
  });
});

test.each(['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'])(
  '%s, which uploads do not know, is never passed over: 409 MultipartUploadInvalidArgument',
  async (name) => {
    const headers = { [name]: name.endsWith('since') ? new Date().toUTCString() : '*' };
    const json = { objectPath: '/demo/stor/conditional' };
    expect(await service.answerOf('POST', '/demo/uploads', { json, headers })).toEqual(invalid);
    const upload = await create(service, json.objectPath);
    expect(await service.refusalOf(`${upload.partsDirectory}/0`, headers)).toEqual(invalid);
    expect(await service.answerOf('POST', `${upload.partsDirectory}/commit`, { json: { parts: [] }, headers })).toEqual(invalid);
    expect(await stateOf(service, upload)).toMatchObject({ state: 'created' });
  },
);

describe('uploadPart', () => {
  test('204 with Etag and Computed-MD5; again overwrites; the parts are listed', async () => {
    const upload = await create(service, '/demo/stor/parts');
    const before = await service.countContents();
    const put = await service.ask('PUT', `${upload.partsDirectory}/0`, { body: 'one', headers: { 'content-md5': md5Of('one') } });
    expect([put.status, put.headers['computed-md5']]).toEqual([204, md5Of('one')]);
    const etag = await service.put(`${upload.partsDirectory}/0`, chunked('two'));
    expect(etag).not.toBe(put.headers['etag']);
    await service.put(`${upload.partsDirectory}/9999`, 'last');
    expect(await service.list(upload.partsDirectory)).toMatchObject([
      { name: '0', type: 'object', etag, size: 3, durability: 2 },
      { name: '9999', size: 4 },
    ]);
    // The part that was replaced goes when its checksum is not being computed any more.
    await expect.poll(() => service.countContents()).toBe(before + 2);
  });

  test('a number outside 0 to 9999, or a copy count: 409 before the body is read', async () => {
    const upload = await create(service, '/demo/stor/parts');
    const body = untouched();
    for (const part of ['10000', '-1', '1.5', 'x', '00001']) {
      expect(await service.answerOf('PUT', `${upload.partsDirectory}/${part}`, { body })).toEqual(invalid);
    }
    expect(await service.answerOf('PUT', `${upload.partsDirectory}/0`, { body, headers: { 'durability-level': '2' } })).toEqual(invalid);
    expect(body.read).toBe(false);
  });

  test('Content-MD5 is checked: 400 ContentMD5Mismatch, and nothing is kept', async () => {
    const upload = await create(service, '/demo/stor/parts');
    const headers = { 'content-md5': md5Of('other') };
    expect(await service.answerOf('PUT', `${upload.partsDirectory}/0`, { body: 'x', headers })).toEqual([400, 'ContentMD5Mismatch']);
    expect(await service.list(upload.partsDirectory)).toEqual([]);
  });

  test('max-content-length: checked as for objects, and nothing is kept', async () => {
    const upload = await create(service, '/demo/stor/parts');
    const part = `${upload.partsDirectory}/0`;
    const before = await service.countContents();
    const headers = { 'max-content-length': '4' };
    expect(await service.answerOf('PUT', part, { headers, body: chunked('abc', 'de') })).toEqual([413, 'MaxContentLengthExceeded']);
    expect(await service.refusalOf(part, { ...headers, 'content-length': '5' })).toEqual([413, 'MaxContentLengthExceeded']);
    expect(await service.refusalOf(part, { 'max-content-length': '-1' })).toEqual([400, 'InvalidMaxContentLength']);
    expect([await service.list(upload.partsDirectory), await service.countContents()]).toEqual([[], before]);
    await service.put(part, chunked('abc', 'd'), headers);
  });

  test('unknown upload, or a wrong prefix: 404 ResourceNotFound', async () => {
    const { id } = await create(service, '/demo/stor/parts');
    const wrong = id.startsWith('0') ? '1' : '0';
    for (const base of [`/demo/uploads/${wrong}${id.slice(1, 3)}/${id}`, `/demo/uploads/abc/${randomUUID()}`]) {
      expect(await service.answerOf('PUT', `${base}/0`, { body: 'x' })).toEqual([404, 'ResourceNotFound']);
      expect(await service.answerOf('GET', `${base}/state`)).toEqual([404, 'ResourceNotFound']);
      expect(await service.answerOf('POST', `${base}/commit`, { json: { parts: [] } })).toEqual([404, 'ResourceNotFound']);
      expect(await service.answerOf('POST', `${base}/abort`)).toEqual([404, 'ResourceNotFound']);
    }
  });

  test('after finalising: 409 InvalidMultipartUploadState', async () => {
    for (const finish of ['commit', 'abort']) {
      const upload = await create(service, '/demo/stor/finished');
      await service.ask('POST', `${upload.partsDirectory}/${finish}`, { json: { parts: [] } });
      expect(await service.answerOf('PUT', `${upload.partsDirectory}/0`, { body: 'x' })).toEqual(wrongState);
    }
  });

  test('a part that arrives while the upload is committed is refused and not kept', async () => {
    const upload = await create(service, '/demo/stor/late');
    const [etag = ''] = await putParts(service, upload, 'x');
    const before = await service.countContents();
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('y');
      await commit(service, upload, [etag]);
    }
    expect(await service.answerOf('PUT', `${upload.partsDirectory}/1`, { body: slow() })).toEqual(wrongState);
    expect(await service.countContents()).toBe(before);
  });

  test('only multipart uploads write below uploads', async () => {
    const upload = await create(service, '/demo/stor/parts');
    const [etag] = await putParts(service, upload, 'x');
    const refused = [405, 'MethodNotAllowed'];
    expect(await service.answerOf('PUT', upload.partsDirectory, { headers: directory })).toEqual(refused);
    expect(await service.answerOf('DELETE', upload.partsDirectory)).toEqual(refused);
    expect(await service.answerOf('DELETE', `${upload.partsDirectory}/0`)).toEqual(refused);
    const part = `${upload.partsDirectory}/0`;
    for (const headers of [directory, link('/demo/stor/l')]) expect(await service.answerOf('PUT', part, { headers })).toEqual(refused);
    expect(await service.answerOf('PUT', `${part}?metadata=true`)).toEqual(refused);
    expect(await service.answerOf('PUT', `${part}?metadata=1`)).toEqual([400, 'InvalidArgumentError']);
    expect(await service.list(upload.partsDirectory)).toMatchObject([{ name: '0', etag, size: 1 }]);
  });
});

describe('abortMultipartUpload', () => {
  test('204, again 204; the parts go; a commit: 409 InvalidMultipartUploadState', async () => {
    const before = await service.countContents();
    const upload = await create(service, '/demo/stor/given-up');
    const etags = await putParts(service, upload, 'x', 'y');
    expect(await service.answerOf('POST', `${upload.partsDirectory}/abort`)).toEqual([204, undefined]);
    expect(await service.answerOf('POST', `${upload.partsDirectory}/abort`)).toEqual([204, undefined]);
    expect(await commitRefusalOf(service, upload, etags)).toEqual(wrongState);
    expect(await stateOf(service, upload)).toMatchObject({ state: 'done', result: 'aborted' });
    // Parts that are being read for the MD5 go when that is over.
    await expect.poll(() => service.countContents()).toBe(before);
  });
});

describe('redirections', () => {
  test.each(['GET', 'HEAD', 'PUT', 'POST'])('%s /:login/uploads/:id[/:part]: 301 to the parts directory', async (method) => {
    const { id, partsDirectory } = await create(service, '/demo/stor/redirected');
    const upload = await service.ask(method, `/demo/uploads/${id}`);
    expect([upload.status, upload.headers['location']]).toEqual([301, partsDirectory]);
    const part = await service.ask(method, `/demo/uploads/${id}/7`);
    expect([part.status, part.headers['location']]).toEqual([301, `${partsDirectory}/7`]);
  });

  test('unknown id: 404 ResourceNotFound', async () => {
    expect(await service.answerOf('GET', `/demo/uploads/${randomUUID()}`)).toEqual([404, 'ResourceNotFound']);
    expect(await service.answerOf('GET', `/demo/uploads/${randomUUID()}/0`)).toEqual([404, 'ResourceNotFound']);
  });
});
