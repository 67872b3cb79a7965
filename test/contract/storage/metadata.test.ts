import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Headers } from '../../../src/api/message.ts';
import { chunked, createTestStorage, directory, md5Of, type TestStorage } from './harness.ts';

let service: TestStorage;
beforeAll(async () => {
  service = await createTestStorage();
});
afterAll(() => service.close());

describe('putMetadata', () => {
  const target = '/demo/stor/described?metadata=true';

  test('replaces all stored headers; etag, data and copies stay', async () => {
    const etag = await service.put('/demo/stor/described', 'data', { 'm-a': '1', 'content-type': 'text/plain', 'durability-level': '4' });
    const put = await service.ask('PUT', target, { headers: { 'm-b': '2', 'content-type': 'text/html', 'content-length': '0' } });
    expect([put.status, put.headers['etag']]).toEqual([204, etag]);
    const { text, headers } = await service.ask('GET', '/demo/stor/described');
    expect(headers).toMatchObject({ etag, 'm-b': '2', 'content-type': 'text/html', 'durability-level': '4' });
    expect([text, 'm-a' in headers]).toEqual(['data', false]);
    await service.ask('PUT', target);
    expect((await service.ask('GET', '/demo/stor/described')).headers['content-type']).toBe('application/octet-stream');
  });

  test.each([{ 'content-length': '5' }, { 'content-md5': md5Of('data') }, { 'durability-level': '3' }])(
    '%o: 400 InvalidUpdate',
    async (headers) => {
      expect(await service.answerOf('PUT', target, { headers })).toEqual([400, 'InvalidUpdate']);
    },
  );

  test('a body, chunked or not: 400 InvalidUpdate, and nothing changes; an empty one is none', async () => {
    const chunks = { 'transfer-encoding': 'chunked' };
    await service.put(target, undefined, { 'm-a': 'before' });
    for (const { body, headers } of [{ body: 'x' }, { body: chunked('', 'x'), headers: chunks }])
      expect(await service.answerOf('PUT', target, { body, headers: { ...headers, 'm-a': 'after' } })).toEqual([400, 'InvalidUpdate']);
    const { text, headers } = await service.ask('GET', '/demo/stor/described');
    expect([text, headers['m-a']]).toEqual(['data', 'before']);
    expect((await service.ask('PUT', target, { body: chunked(), headers: chunks })).status).toBe(204);
  });

  test('on a directory the content type stays', async () => {
    await service.mkdir('/demo/stor/folder');
    expect(
      await service.answerOf('PUT', '/demo/stor/folder?metadata=true', { headers: { 'm-a': '1', 'content-type': 'text/html' } }),
    ).toEqual([204, undefined]);
    const { headers } = await service.ask('GET', '/demo/stor/folder');
    expect(headers).toMatchObject({ 'm-a': '1', 'content-type': 'application/x-json-stream; type=directory' });
    expect(await service.answerOf('PUT', '/demo?metadata=true')).toEqual([400, 'OperationNotAllowedOnRootDirectory']);
  });

  test('missing: 404; more than 4 KB: 400 InvalidArgumentError', async () => {
    expect(await service.answerOf('PUT', '/demo/stor/nothing?metadata=true')).toEqual([404, 'ResourceNotFound']);
    expect(await service.answerOf('PUT', target, { headers: { 'm-a': 'x'.repeat(4096) } })).toEqual([400, 'InvalidArgumentError']);
  });
});

describe('CORS', () => {
  const cors = {
    'access-control-allow-origin': 'https://a.test, https://b.test',
    'access-control-allow-methods': 'GET, PUT',
    'access-control-allow-headers': 'X-One, x-two',
  };
  const preflight = (headers: Headers) => service.ask('OPTIONS', '/demo/stor/shared', { signed: false, headers });
  beforeAll(() => service.put('/demo/stor/shared', 'x', cors));

  test('a GET with Origin is told of that origin only, and only when the stored list has it', async () => {
    const headersFor = async (origin: string) => (await service.ask('GET', '/demo/stor/shared', { headers: { origin } })).headers;
    expect(await headersFor('https://b.test')).toMatchObject({ 'access-control-allow-origin': 'https://b.test', vary: 'origin' });
    expect(Object.keys(await headersFor('https://c.test')).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test.each(['object', 'directory'])('of an %s: every response says that it depends on the origin', async (kind) => {
    const target = `/demo/stor/cors-${kind}`;
    await service.put(target, kind === 'object' ? 'x' : undefined, {
      ...(kind === 'directory' && directory),
      ...cors,
      'access-control-max-age': '60',
    });
    for (const method of ['GET', 'HEAD']) {
      const headersFor = async (headers: Headers) => (await service.ask(method, target, { headers })).headers;
      const allowed = await headersFor({ origin: 'https://b.test' });
      expect(allowed).toMatchObject({ ...cors, 'access-control-allow-origin': 'https://b.test', vary: 'origin' });
      expect(allowed).not.toHaveProperty('access-control-max-age');
      const refused = await headersFor({ origin: 'https://c.test' });
      expect(refused).toMatchObject({ vary: 'origin' });
      expect(Object.keys(refused).filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(await headersFor({})).toMatchObject({ ...cors, 'access-control-max-age': '60', vary: 'origin' });
    }
  });

  test('of a public directory: * is the origin of the request', async () => {
    await service.mkdir('/demo/public/open');
    const { headers } = await service.ask('GET', '/demo/public/open', { signed: false, headers: { origin: 'https://c.test' } });
    expect(headers).toMatchObject({ 'access-control-allow-origin': 'https://c.test', vary: 'origin' });
  });

  test('a preflight is answered without a signature, from the stored headers', async () => {
    const allowed = await preflight({
      origin: 'https://a.test',
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'x-ONE',
    });
    expect(allowed.status).toBe(204);
    expect(allowed.headers).toMatchObject({ ...cors, 'access-control-allow-origin': 'https://a.test' });
  });

  test.each([
    [{ origin: 'https://c.test', 'access-control-request-method': 'GET' }, 403, 'AuthorizationFailed'],
    [{ origin: 'https://a.test', 'access-control-request-method': 'DELETE' }, 403, 'AuthorizationFailed'],
    [
      { origin: 'https://a.test', 'access-control-request-method': 'GET', 'access-control-request-headers': 'x-three' },
      403,
      'AuthorizationFailed',
    ],
    [{ origin: 'https://a.test' }, 400, 'BadRequest'],
  ])('preflight %o: %i %s', async (headers, status, code) => {
    const answered = await preflight(headers);
    expect([answered.status, answered.code]).toEqual([status, code]);
  });

  test('of an object without a list: 403', async () => {
    await service.put('/demo/stor/plain', 'x');
    const headers = { origin: 'https://a.test', 'access-control-request-method': 'GET' };
    expect(await service.answerOf('OPTIONS', '/demo/stor/plain', { headers })).toEqual([403, 'AuthorizationFailed']);
  });
});
