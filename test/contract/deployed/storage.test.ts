import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestStorage, directory, link, md5Of, type Asked, type TestStorage } from '../storage/harness.ts';

/** What deployed object storages do, line by line ("Second edition" of the decisions on the object storage). */

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
  await service.put('/demo/stor/there', 'content');
});
afterAll(() => service.close());

describe('responses', () => {
  test.each<[string, string, Asked]>([
    ['GET', '/demo/stor/there', {}],
    ['GET', '/demo/stor/missing', {}],
    ['GET', '/demo/stor', { signed: false }],
  ])('%s %s: the common headers', async (method, target, asked) => {
    const { headers } = await service.ask(method, target, asked);
    expect(headers).toMatchObject({ server: 'Manta/2', 'x-server-name': 'east-1' });
    expect(Object.keys(headers)).toEqual(expect.arrayContaining(['date', 'x-request-id', 'x-response-time']));
  });
});

describe('a signature that is not Base64 is judged after account, user and key', () => {
  test.each([
    ['/nobody/keys/aa:bb', 'AccountDoesNotExist'],
    ['/demo/nobody/keys/aa:bb', 'UserDoesNotExist'],
    ['/demo/keys/aa:bb', 'KeyDoesNotExist'],
    ['', 'InvalidSignature'],
  ])('%s: %s', async (keyId, code) => {
    const named = keyId === '' ? `/demo/keys/${service.key.fingerprint}` : keyId;
    const authorization = `Signature keyId="${named}",algorithm="rsa-sha256",signature="no base64!"`;
    const headers = { date: new Date().toUTCString(), authorization };
    expect(await service.ask('GET', '/demo/stor/there', { headers, signed: false })).toMatchObject({ status: 403, code });
  });
});

test.each([
  ['GET', '/demo/public/open', 403],
  ['GET', '/demo/stor/there', 403],
  ['PUT', '/demo/stor/new', 403],
])('plain HTTP: %s %s: %i', async (method, target, status) => {
  await service.put('/demo/public/open', 'open');
  for (const signing of [{}, false] as const) {
    const response = await service.storage(method, target, { signing, secure: false });
    expect(response).toMatchObject({ status, code: 'SecureTransportRequired' });
  }
});

test('a body that exceeds the free space is 507 before it is asked for', async () => {
  const refusal = await service.refusalOf('/demo/stor/huge', { 'content-length': String(2 ** 60), 'max-content-length': String(2 ** 61) });
  expect(refusal).toEqual([507, 'NotEnoughSpace']);
});

describe('CORS on GET', () => {
  const origin = 'https://page.example';
  const stored = { 'access-control-allow-origin': '*', 'access-control-max-age': '600' };

  test.each<[string, Record<string, string>, string | undefined]>([
    ['a star names the origin', stored, origin],
    ['methods with GET', { ...stored, 'access-control-allow-methods': 'PUT, GET' }, origin],
    ['methods without GET', { ...stored, 'access-control-allow-methods': 'PUT' }, undefined],
    ['a list without the origin', { 'access-control-allow-origin': 'https://other.example' }, undefined],
  ])('%s', async (_, headers, allowed) => {
    await service.put('/demo/stor/cors', 'x', headers);
    const { headers: shown } = await service.ask('GET', '/demo/stor/cors', { headers: { origin } });
    expect(shown['access-control-allow-origin']).toBe(allowed);
    expect(shown).not.toHaveProperty('access-control-max-age');
    if (allowed === undefined) expect(Object.keys(shown).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });

  test('max-age stands in the preflight', async () => {
    await service.put('/demo/stor/cors', 'x', stored);
    const headers = { origin, 'access-control-request-method': 'GET' };
    expect((await service.ask('OPTIONS', '/demo/stor/cors', { headers, signed: false })).headers).toMatchObject({
      'access-control-max-age': '600',
      'access-control-allow-origin': origin,
    });
  });
});

describe('content-disposition', () => {
  const bad = { 'content-disposition': 'attachment;' };
  const refused = [400, 'BadRequest'];

  test('that does not parse is refused on objects, in metadata and in uploads', async () => {
    expect(await service.answerOf('PUT', '/demo/stor/d', { body: 'x', headers: bad })).toEqual(refused);
    expect(await service.answerOf('PUT', '/demo/stor/there?metadata=true', { headers: bad })).toEqual(refused);
    const json = { objectPath: '/demo/stor/d', headers: bad };
    expect((await service.answerOf('POST', '/demo/uploads', { json }))[0]).toBeGreaterThanOrEqual(400);
  });

  test('is ignored on directories', async () => {
    expect(await service.answerOf('PUT', '/demo/stor/dir', { headers: { ...directory, ...bad } })).toEqual([204, undefined]);
    expect((await service.ask('GET', '/demo/stor/dir')).headers).not.toHaveProperty('content-disposition');
  });

  test('stands in listings, beside the type as it was stored', async () => {
    await service.mkdir('/demo/stor/listed');
    const headers = { 'content-disposition': 'attachment; filename="a.txt"', 'content-type': 'Text/PLAIN ;charset=UTF-8' };
    await service.put('/demo/stor/listed/a', 'x', headers);
    const shown = { contentDisposition: headers['content-disposition'], contentType: headers['content-type'] };
    expect(await service.list('/demo/stor/listed')).toEqual([expect.objectContaining(shown)]);
  });
});

describe('uploads', () => {
  const invalid = [409, 'MultipartUploadInvalidArgumentError'];
  interface Created {
    id: string;
    partsDirectory: string;
  }
  const create = async (objectPath: string, headers?: object): Promise<Created> => {
    const { json } = await service.ask('POST', '/demo/uploads', { json: { objectPath, ...(headers && { headers }) } });
    return json as Created;
  };
  const stateOf = async (path: string): Promise<unknown> => (await service.ask('GET', `${path}/state`)).json;

  test('ids end in the length of their prefix; headers in state keep their types', async () => {
    const shownOnly = { accept: '*/*', role: 'x', expect: '100-continue', location: '/demo/stor/y', 'x-request-id': 'z' };
    const headers = { 'content-length': 0, 'Durability-Level': 3, 'm-own': 'value', ...shownOnly };
    const { id, partsDirectory } = await create('/demo/stor/typed', headers);
    expect(id).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{11}3$/u);
    expect(partsDirectory).toBe(`/demo/uploads/${id.slice(0, 3)}/${id}`);
    expect(await stateOf(partsDirectory)).toMatchObject({
      headers: { 'content-length': 0, 'durability-level': 3, 'm-own': 'value', ...shownOnly },
      numCopies: 3,
    });
    expect((await service.ask('POST', `${partsDirectory}/commit`, { json: { parts: [] } })).status).toBe(201);
    const { headers: stored } = await service.ask('GET', '/demo/stor/typed');
    expect(stored).toMatchObject({ 'm-own': 'value', 'durability-level': '3' });
    expect(Object.keys(stored)).not.toContain('location');
  });

  test('the state of a committed upload has the MD5 of the etags', async () => {
    const { partsDirectory } = await create('/demo/stor/summed');
    const etag = await service.put(`${partsDirectory}/0`, 'part');
    expect(await stateOf(partsDirectory)).not.toHaveProperty('partsMD5Summary');
    await service.ask('POST', `${partsDirectory}/commit`, { json: { parts: [etag] } });
    expect(await stateOf(partsDirectory)).toMatchObject({ partsMD5Summary: md5Of(etag) });
  });

  test.each(['abort', 'commit'])('GET and HEAD of %s: 405', async (step) => {
    const { partsDirectory } = await create('/demo/stor/never');
    for (const method of ['GET', 'HEAD']) expect((await service.ask(method, `${partsDirectory}/${step}`)).status).toBe(405);
  });

  test('an unknown upload is 404 before its body is judged', async () => {
    const id = '0f3c0000-0000-4000-8000-000000000003';
    expect(await service.answerOf('POST', `/demo/uploads/0f3/${id}/commit`, { json: {} })).toEqual([404, 'ResourceNotFound']);
    expect(await service.answerOf('POST', `/demo/uploads/0f3/${id}/commit`, { body: '{' })).toEqual([404, 'ResourceNotFound']);
  });

  test.each([
    [{ objectPath: '/demo/stor/x', headers: { 'if-match': 'x' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'content-length': -1 } }],
    [{ objectPath: '/demo/stor/x', headers: { 'content-length': 'many' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'durability-level': 7 } }],
    [{ objectPath: '/demo/stor/x', headers: { 'content-disposition': 'attachment;' } }],
    [{ objectPath: '/demo/stor/x', headers: { 'x-unknown': 'x' } }],
    [{}],
  ])('%j is refused at once', async (json) => {
    const [status, code] = await service.answerOf('POST', '/demo/uploads', { json });
    expect([status === 400 || status === 409, code]).toEqual([
      true,
      expect.stringMatching(/^(MultipartUploadInvalidArgumentError|InvalidDurabilityLevel|BadRequest)$/u),
    ]);
    if (code === invalid[1]) expect(status).toBe(409);
  });

  test('an unknown account is refused at create; a root, and another account, at commit', async () => {
    expect(await service.answerOf('POST', '/demo/uploads', { json: { objectPath: '/nobody/stor/x' } })).toEqual([
      403,
      'AccountDoesNotExist',
    ]);
    for (const [objectPath, code] of [
      ['/demo/stor', 'OperationNotAllowedOnRootDirectory'],
      ['/demo/uploads/x/y', 'MethodNotAllowed'],
      ['/other/stor/x', 'AuthorizationFailed'],
    ] as const) {
      const { partsDirectory } = await create(objectPath);
      expect((await service.answerOf('POST', `${partsDirectory}/commit`, { json: { parts: [] } }))[1]).toBe(code);
      expect(await stateOf(partsDirectory)).toMatchObject({ state: 'created' });
    }
  });
});

test('If-Match with an etag on a link is compared with the source', async () => {
  const etag = await service.put('/demo/stor/source', 'source');
  const other = await service.put('/demo/stor/target', 'target');
  const put = (condition: Record<string, string>) =>
    service.answerOf('PUT', '/demo/stor/target', { headers: { ...link('/demo/stor/source'), ...condition } });
  expect((await put({ 'if-match': other }))[0]).toBe(412);
  expect((await put({ 'if-none-match': '*' }))[0]).toBe(412);
  expect((await put({ 'if-match': '' }))[0]).toBe(409);
  expect((await put({ 'if-match': etag }))[0]).toBe(204);
});
