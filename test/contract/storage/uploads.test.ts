import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Headers } from '../../../src/api/message.ts';
import { chunked, createTestStorage, directory, link, md5Of, untouched, type Asked, type TestStorage } from './harness.ts';

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
});
afterAll(() => service.close());

const mebibyte = 1024 ** 2;
const full = randomBytes(5 * mebibyte);

async function answerOf(method: string, target: string, asked: Asked = {}): Promise<[number, string | undefined]> {
  const { status, code } = await service.ask(method, target, asked);
  return [status, code];
}

interface Created {
  id: string;
  partsDirectory: string;
}

async function create(objectPath: string, headers?: Record<string, unknown>): Promise<Created> {
  const { status, json, text } = await service.ask('POST', '/demo/uploads', { json: { objectPath, headers } });
  if (status !== 201) throw new Error(`${status} ${text}`);
  return json as Created;
}

/** Stores parts and gives their etags. */
async function putParts({ partsDirectory }: Created, ...parts: (Uint8Array | string)[]): Promise<string[]> {
  const etags: string[] = [];
  for (const [index, body] of parts.entries()) etags.push(await service.put(`${partsDirectory}/${index}`, body));
  return etags;
}

function commit({ partsDirectory }: Created, parts: unknown): ReturnType<TestStorage['ask']> {
  return service.ask('POST', `${partsDirectory}/commit`, { json: { parts } });
}

async function refusalOf(upload: Created, parts: unknown): Promise<[number, string | undefined]> {
  const { status, code } = await commit(upload, parts);
  return [status, code];
}

async function stateOf({ partsDirectory }: Created): Promise<Record<string, unknown>> {
  const { status, json } = await service.ask('GET', `${partsDirectory}/state`);
  expect(status).toBe(200);
  return json as Record<string, unknown>;
}

const invalid = [409, 'MultipartUploadInvalidArgument'];
const wrongState = [409, 'InvalidMultipartUploadState'];

describe('createMultipartUpload', () => {
  test('201 with an id and the parts directory under its first three characters', async () => {
    const headers = { 'content-type': 'text/plain', 'M-Colour': 'red', 'durability-level': 3, 'content-length': 1 };
    const before = Date.now();
    const upload = await create('//demo/stor//film', headers);
    expect(upload.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(upload.partsDirectory).toBe(`/demo/uploads/${upload.id.slice(0, 3)}/${upload.id}`);
    const state = await stateOf(upload);
    expect(state).toEqual({
      ...upload,
      state: 'created',
      targetObject: '/demo/stor/film',
      headers: { 'content-type': 'text/plain', 'm-colour': 'red', 'durability-level': '3', 'content-length': '1' },
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
  ])('%j: 409 MultipartUploadInvalidArgument', async (json) => {
    expect(await answerOf('POST', '/demo/uploads', { json })).toEqual(invalid);
  });

  test.each([
    ['/demo/stor', {}, 400, 'OperationNotAllowedOnRootDirectory'],
    ['/demo/stor/../x', {}, 400, 'InvalidResource'],
    ['/other/stor/x', {}, 403, 'AuthorizationFailed'],
    ['/demo/uploads/x/y', {}, 405, 'MethodNotAllowed'],
    ['/demo/stor/x', { 'durability-level': 7 }, 400, 'InvalidDurabilityLevel'],
    ['/demo/stor/x', { 'role-tag': 'nobody' }, 409, 'InvalidRoleTag'],
    ['/demo/stor/x', { 'content-disposition': ';' }, 400, 'BadRequest'],
  ])('%s with %j: %i %s', async (objectPath, headers, status, code) => {
    expect(await answerOf('POST', '/demo/uploads', { json: { objectPath, headers } })).toEqual([status, code]);
  });
});

describe('uploadPart', () => {
  test('204 with Etag and Computed-MD5; again overwrites; the parts are listed', async () => {
    const upload = await create('/demo/stor/parts');
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
    expect(await service.countContents()).toBe(before + 2);
  });

  test('a number outside 0 to 9999, or a copy count: 409 before the body is read', async () => {
    const upload = await create('/demo/stor/parts');
    const body = untouched();
    for (const part of ['10000', '-1', '1.5', 'x', '00001']) {
      expect(await answerOf('PUT', `${upload.partsDirectory}/${part}`, { body })).toEqual(invalid);
    }
    expect(await answerOf('PUT', `${upload.partsDirectory}/0`, { body, headers: { 'durability-level': '2' } })).toEqual(invalid);
    expect(body.read).toBe(false);
  });

  test('Content-MD5 is checked: 400 ContentMD5Mismatch, and nothing is kept', async () => {
    const upload = await create('/demo/stor/parts');
    const headers: Headers = { 'content-md5': md5Of('other') };
    expect(await answerOf('PUT', `${upload.partsDirectory}/0`, { body: 'x', headers })).toEqual([400, 'ContentMD5Mismatch']);
    expect(await service.list(upload.partsDirectory)).toEqual([]);
  });

  test('unknown upload, or a wrong prefix: 404 ResourceNotFound', async () => {
    const { id } = await create('/demo/stor/parts');
    const wrong = id.startsWith('0') ? '1' : '0';
    for (const base of [`/demo/uploads/${wrong}${id.slice(1, 3)}/${id}`, `/demo/uploads/abc/${randomUUID()}`]) {
      expect(await answerOf('PUT', `${base}/0`, { body: 'x' })).toEqual([404, 'ResourceNotFound']);
      expect(await answerOf('GET', `${base}/state`)).toEqual([404, 'ResourceNotFound']);
      expect(await answerOf('POST', `${base}/commit`, { json: { parts: [] } })).toEqual([404, 'ResourceNotFound']);
      expect(await answerOf('POST', `${base}/abort`)).toEqual([404, 'ResourceNotFound']);
    }
  });

  test('after finalising: 409 InvalidMultipartUploadState', async () => {
    for (const finish of ['commit', 'abort']) {
      const upload = await create('/demo/stor/finished');
      await service.ask('POST', `${upload.partsDirectory}/${finish}`, { json: { parts: [] } });
      expect(await answerOf('PUT', `${upload.partsDirectory}/0`, { body: 'x' })).toEqual(wrongState);
    }
  });

  test('a part that arrives while the upload is committed is refused and not kept', async () => {
    const upload = await create('/demo/stor/late');
    const [etag = ''] = await putParts(upload, 'x');
    const before = await service.countContents();
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('y');
      await commit(upload, [etag]);
    }
    expect(await answerOf('PUT', `${upload.partsDirectory}/1`, { body: slow() })).toEqual(wrongState);
    expect(await service.countContents()).toBe(before);
  });

  test('only multipart uploads write below uploads', async () => {
    const upload = await create('/demo/stor/parts');
    await putParts(upload, 'x');
    const refused = [405, 'MethodNotAllowed'];
    expect(await answerOf('PUT', upload.partsDirectory, { headers: directory })).toEqual(refused);
    expect(await answerOf('DELETE', upload.partsDirectory)).toEqual(refused);
    expect(await answerOf('DELETE', `${upload.partsDirectory}/0`)).toEqual(refused);
    expect(await answerOf('PUT', '/demo/stor/l', { headers: link(`${upload.partsDirectory}/0`) })).toEqual(refused);
  });
});

describe('commitMultipartUpload', () => {
  test('201 with Location, Etag and Computed-MD5; the object is the parts in order, with its headers; ranges span parts', async () => {
    const before = await service.countContents();
    const parts = [full, randomBytes(5 * mebibyte + 3), Buffer.from('the end')];
    const whole = Buffer.concat(parts);
    const declared = {
      'content-md5': md5Of(whole),
      'content-length': whole.length,
      'content-type': 'video/x',
      'm-a': '1',
      'durability-level': 4,
    };
    const upload = await create('/demo/stor/a film', declared);
    const etags: string[] = [];
    for (const index of [2, 0, 1]) etags[index] = await service.put(`${upload.partsDirectory}/${index}`, parts[index]);
    await service.put(`${upload.partsDirectory}/3`, 'not committed');
    const done = await commit(upload, etags);
    expect([done.status, done.headers['location'], done.headers['computed-md5'], done.text]).toEqual([
      201,
      '/demo/stor/a%20film',
      md5Of(whole),
      '',
    ]);
    const got = await service.ask('GET', '/demo/stor/a%20film');
    expect(createHash('md5').update(got.bytes).digest('base64')).toBe(md5Of(whole));
    expect(got.headers).toMatchObject({
      etag: done.headers['etag'],
      'content-length': String(whole.length),
      'content-md5': md5Of(whole),
      'content-type': 'video/x',
      'durability-level': '4',
      'm-a': '1',
    });
    for (const [start, end] of [
      [0, 1],
      [full.length - 2, full.length + 2],
      [full.length, full.length + 1],
      [100, whole.length - 3],
      [whole.length - 8, whole.length],
    ] as const) {
      const { status, bytes } = await service.ask('GET', '/demo/stor/a%20film', { headers: { range: `bytes=${start}-${end - 1}` } });
      expect([status, Buffer.compare(bytes, whole.subarray(start, end))]).toEqual([206, 0]);
    }
    expect(await stateOf(upload)).toMatchObject({ state: 'done', result: 'committed' });
    expect(await stateOf(upload)).not.toHaveProperty('partsDirectory');
    expect(await answerOf('GET', upload.partsDirectory)).toEqual([404, 'ResourceNotFound']);
    expect(await service.countContents()).toBe(before + 3);
    await service.ask('PUT', '/demo/stor/linked', { headers: link('/demo/stor/a%20film') });
    await service.ask('DELETE', '/demo/stor/a%20film');
    expect((await service.ask('GET', '/demo/stor/linked')).bytes).toHaveLength(whole.length);
    await service.ask('DELETE', '/demo/stor/linked');
    expect(await service.countContents()).toBe(before);
  });

  test('the same parts again: the same answer, also after the object was deleted; others: 409 InvalidMultipartUploadState', async () => {
    const upload = await create('/demo/stor/again');
    const etags = await putParts(upload, 'x');
    const first = await commit(upload, etags);
    await service.ask('DELETE', '/demo/stor/again');
    const second = await commit(upload, etags);
    expect([second.status, second.headers['etag']]).toEqual([201, first.headers['etag']]);
    expect(await answerOf('GET', '/demo/stor/again')).toEqual([404, 'ResourceNotFound']);
    expect(await refusalOf(upload, [])).toEqual(wrongState);
    expect(await refusalOf(upload, ['other'])).toEqual(wrongState);
    expect(await answerOf('POST', `${upload.partsDirectory}/abort`)).toEqual(wrongState);
  });

  test('at once from several sides: all get the same answer', async () => {
    const upload = await create('/demo/stor/crowd');
    const etags = await putParts(upload, full, 'x');
    const answers = await Promise.all(Array.from({ length: 8 }, () => commit(upload, etags)));
    expect(new Set(answers.map(({ status, headers }) => `${status} ${headers['etag']}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
  });

  test('zero parts make an empty object', async () => {
    const upload = await create('/demo/stor/zero');
    expect((await commit(upload, [])).headers['computed-md5']).toBe(md5Of(''));
    const got = await service.ask('GET', '/demo/stor/zero');
    expect([got.status, got.text, got.headers['content-length'], got.headers['content-md5']]).toEqual([200, '', '0', md5Of('')]);
  });

  test('replaces an object, whose bytes go', async () => {
    await service.put('/demo/stor/replaced', 'old');
    const before = await service.countContents();
    const upload = await create('/demo/stor/replaced');
    await commit(upload, await putParts(upload, 'new'));
    expect((await service.ask('GET', '/demo/stor/replaced')).text).toBe('new');
    expect(await service.countContents()).toBe(before);
  });

  test('target a directory: 400; parent missing: 404; parent an object: 400; the upload stays as it was', async () => {
    await service.mkdir('/demo/stor/taken');
    await service.put('/demo/stor/leaf', 'x');
    for (const [target, ...refusal] of [
      ['/demo/stor/taken', 400, 'OperationNotAllowedOnDirectory'],
      ['/demo/stor/missing/x', 404, 'DirectoryDoesNotExist'],
      ['/demo/stor/leaf/x', 400, 'ParentNotDirectory'],
    ] as const) {
      const upload = await create(target);
      const etags = await putParts(upload, 'x');
      expect(await refusalOf(upload, etags)).toEqual(refusal);
      expect(await stateOf(upload)).toMatchObject({ state: 'created' });
    }
  });

  test('parts missing, malformed, unknown, in another order, replaced, or too small: 409, and the upload stays as it was', async () => {
    const upload = await create('/demo/stor/picky');
    const etags = await putParts(upload, full, full, 'x');
    const [a = '', b = '', c = ''] = etags;
    for (const parts of [undefined, 'x', [1], { 0: a }, [a, b, c, c], [b, a, c], ['x'], [a, c]]) {
      expect([parts, ...(await refusalOf(upload, parts))]).toEqual([parts, ...invalid]);
    }
    await service.put(`${upload.partsDirectory}/1`, 'small');
    expect(await refusalOf(upload, etags)).toEqual(invalid);
    const [, small = ''] = (await service.list(upload.partsDirectory)).map(({ etag }) => String(etag));
    expect(await refusalOf(upload, [a, small, c])).toEqual(invalid);
    expect(
      await refusalOf(
        upload,
        Array.from({ length: 10_001 }, () => a),
      ),
    ).toEqual(invalid);
    expect(await stateOf(upload)).toMatchObject({ state: 'created' });
    expect((await commit(upload, [a, small])).status).toBe(201);
  });

  test('declared content-length or content-md5 that the data have not: 409, and the upload stays as it was', async () => {
    for (const headers of [{ 'content-length': 2 }, { 'content-md5': md5Of('y') }]) {
      const upload = await create('/demo/stor/declared', headers);
      const etags = await putParts(upload, 'x');
      expect(await refusalOf(upload, etags)).toEqual(invalid);
      expect(await stateOf(upload)).toMatchObject({ state: 'created' });
      expect(await answerOf('GET', '/demo/stor/declared')).toEqual([404, 'ResourceNotFound']);
    }
  });

  test('a part replaced after its bytes were read ahead is read anew', async () => {
    const upload = await create('/demo/stor/anew');
    await putParts(upload, randomBytes(5 * mebibyte), 'x', 'y');
    const etags = await putParts(upload, full, 'z');
    const done = await commit(upload, etags);
    expect(done.headers['computed-md5']).toBe(md5Of(Buffer.concat([full, Buffer.from('z')])));
  });
});

describe('abortMultipartUpload', () => {
  test('204, again 204; the parts go; a commit: 409 InvalidMultipartUploadState', async () => {
    const before = await service.countContents();
    const upload = await create('/demo/stor/given-up');
    const etags = await putParts(upload, 'x', 'y');
    expect(await answerOf('POST', `${upload.partsDirectory}/abort`)).toEqual([204, undefined]);
    expect(await answerOf('POST', `${upload.partsDirectory}/abort`)).toEqual([204, undefined]);
    expect(await refusalOf(upload, etags)).toEqual(wrongState);
    expect(await stateOf(upload)).toMatchObject({ state: 'done', result: 'aborted' });
    expect(await service.countContents()).toBe(before);
  });
});

describe('redirections', () => {
  test.each(['GET', 'HEAD', 'PUT', 'POST'])('%s /:login/uploads/:id[/:part]: 301 to the parts directory', async (method) => {
    const { id, partsDirectory } = await create('/demo/stor/redirected');
    const upload = await service.ask(method, `/demo/uploads/${id}`);
    expect([upload.status, upload.headers['location']]).toEqual([301, partsDirectory]);
    const part = await service.ask(method, `/demo/uploads/${id}/7`);
    expect([part.status, part.headers['location']]).toEqual([301, `${partsDirectory}/7`]);
  });

  test('unknown id: 404 ResourceNotFound', async () => {
    expect(await answerOf('GET', `/demo/uploads/${randomUUID()}`)).toEqual([404, 'ResourceNotFound']);
    expect(await answerOf('GET', `/demo/uploads/${randomUUID()}/0`)).toEqual([404, 'ResourceNotFound']);
  });
});
