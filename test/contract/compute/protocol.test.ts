import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runsOnPostgres } from '../../support/cluster-database.ts';
import { createTestService, type TestService } from '../../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await createTestService();
});
afterAll(() => service.close());

const form = 'application/x-www-form-urlencoded';

describe('versions', () => {
  test.each([
    ['~8', '8.0.0'],
    ['~9', '9.0.0'],
    ['~9||~8', '9.0.0'],
    ['~8 || ~7', '8.0.0'],
    ['~7', '7.3.0'],
    ['8.0.0', '8.0.0'],
    ['8', '8.0.0'],
    ['*', '9.0.0'],
    ['>=7', '9.0.0'],
    ['>=7 <9', '8.0.0'],
    ['^8.0.0', '8.0.0'],
    ['8.x', '8.0.0'],
  ])('%s gets %s', async (range, version) => {
    const response = await service.compute('GET', '/--ping', { headers: { 'accept-version': range } });
    expect([response.status, response.headers['api-version']]).toEqual([200, version]);
  });

  test.each(['6.5.0', '~6', 'nonsense', '~9.1', '8.0.1', ''])('%j: 449', async (range) => {
    const response = await service.compute('GET', '/--ping', { headers: { 'accept-version': range } });
    expect([response.status, response.code, response.headers['api-version']]).toEqual([449, 'InvalidVersion', '9.0.0']);
  });

  test('Api-Version stands in for Accept-Version; neither is 449', async () => {
    const { compute } = service.handlers;
    const { headers } = { headers: { date: new Date().toUTCString() } };
    const response = await compute({ method: 'GET', target: '/--ping', headers }, { remoteAddress: '', secure: true });
    expect(response.status).toBe(449);
    const older = await compute(
      { method: 'GET', target: '/--ping', headers: { ...headers, 'api-version': '~8' } },
      { remoteAddress: '', secure: true },
    );
    expect([older.status, older.headers['api-version']]).toEqual([401, '8.0.0']);
  });
});

describe('responses', () => {
  test('carry the common headers', async () => {
    const before = Date.now();
    const { status, headers, bytes } = await service.compute('GET', '/my/packages');
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(bytes.length),
      'content-md5': createHash('md5').update(bytes).digest('base64'),
      server: 'cloudapi/9.13.0',
      'api-version': '9.0.0',
      'cloud-datacenter-name': 'east-1',
      'triton-datacenter-name': 'east-1',
    });
    expect(headers['request-id']).toMatch(/^[0-9a-f-]{36}$/u);
    expect(headers['response-time']).toMatch(/^\d+$/u);
    const date = Date.parse(headers['date'] ?? '');
    // A date of HTTP has no fraction of a second.
    expect([date > before - 1000, date <= Date.now()]).toEqual([true, true]);
  });

  test('refusals carry them too', async () => {
    const { headers } = await service.compute('GET', '/my/nothing');
    expect(Object.keys(headers)).toEqual(
      expect.arrayContaining(['date', 'server', 'api-version', 'request-id', 'response-time', 'cloud-datacenter-name', 'content-md5']),
    );
  });

  test.each(['x-request-id', 'request-id'])('%s is echoed when it is a UUID', async (name) => {
    const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
    expect((await service.compute('GET', '/--ping', { headers: { [name]: id } })).headers['request-id']).toBe(id);
    expect((await service.compute('GET', '/--ping', { headers: { [name]: 'mine' } })).headers['request-id']).not.toBe('mine');
  });

  test('HEAD has the headers of GET and no body', async () => {
    const [get, head] = [await service.compute('GET', '/my/packages'), await service.compute('HEAD', '/my/packages')];
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', get.headers['content-length']]);
  });
});

describe('paths and methods', () => {
  test.each(['/my/nothing', '/', '/my/keys/a/b', '/a/b/c/d/e/f'])('%s: 404', async (target) => {
    expect(await service.compute('GET', target)).toMatchObject({ status: 404, code: 'ResourceNotFound' });
  });

  test('another method: 405 with Allow', async () => {
    const response = await service.compute('PATCH', '/my/keys');
    expect(response).toMatchObject({ status: 405, code: 'MethodNotAllowed' });
    expect(response.headers['allow']).toBe('GET, HEAD, POST, PUT');
    for (const [path, allow] of [
      ['/my/limits', 'GET, HEAD'],
      ['/my/config', 'GET, HEAD, PUT'],
      ['/my', 'GET, HEAD, POST, PUT'],
      ['/my/users/ann/change_password', 'POST'],
    ] as const)
      expect((await service.compute('DELETE', path)).headers['allow'], path).toBe(allow);
  });

  test.each(['//my//packages/', '/demo/packages', '/my/packages/?', 'https://compute.test/my/packages'])(
    '%s is /my/packages',
    async (target) => {
      expect((await service.compute('GET', target)).status).toBe(200);
    },
  );

  test('the account also by its UUID', async () => {
    expect((await service.compute('GET', `/${service.account.id}/packages`)).status).toBe(200);
  });

  test('bad percent-encoding: 400', async () => {
    expect(await service.compute('GET', '/my/keys/%E0%A4%A')).toMatchObject({ status: 400, code: 'BadRequest' });
  });

  test.each(['text/html', 'application/xml', 'application/json;q=0', 'application/json;q=0, */*', '*/*, application/*;q=0.0'])(
    'Accept: %s is 406',
    async (accept) => {
      expect(await service.compute('GET', '/my/keys', { headers: { accept } })).toMatchObject({ status: 406, code: 'NotAcceptable' });
    },
  );

  test.each([
    '*/*',
    'application/json',
    '*/*;q=0, application/json;q=0.1',
    'text/html, application/*;q=0.5',
    'application/json; charset=utf-8',
  ])('Accept: %s is served', async (accept) => {
    expect((await service.compute('GET', '/my/keys', { headers: { accept } })).status).toBe(200);
  });
});

describe('request bodies', () => {
  async function update(body: string | Uint8Array, contentType: string, headers = {}): ReturnType<TestService['compute']> {
    return service.compute('POST', '/my', { body: Buffer.from(body), headers: { 'content-type': contentType, ...headers } });
  }

  test('in all four encodings', async () => {
    const multipart = '--b\r\nContent-Disposition: form-data; name="city"\r\n\r\nd\r\n--b--\r\n';
    expect((await update('{"city":"a"}', 'application/json; charset=UTF-8')).json).toMatchObject({ city: 'a' });
    expect((await update('city=b+b', form)).json).toMatchObject({ city: 'b b' });
    expect((await service.compute('POST', '/my?city=c')).json).toMatchObject({ city: 'c' });
    expect((await update(multipart, 'multipart/form-data; boundary=b')).json).toMatchObject({ city: 'd' });
  });

  const part = 'Content-Disposition: form-data; name=city\r\n\r\n';
  test.each([
    ['an unquoted name', `--b\r\n${part}Ulm\r\n--b--\r\n`, 'b'],
    ['a preamble and an epilogue', `before\r\n--b\r\n${part}Ulm\r\n--b--\r\nafter\r\n--b\r\nnothing`, 'b'],
    ['no line end after the last boundary', `--b\r\n${part}Ulm\r\n--b--`, 'b'],
    ['a quoted boundary, and blanks after it', `--a.b \r\n${part}Ulm\r\n--a.b--\t\r\n`, '"a.b"'],
    [
      'other parameters and headers',
      `--b\r\nX: y\r\ncontent-disposition: form-data; filename="; name=x"; name="city"\r\n\r\nUlm\r\n--b--`,
      'b',
    ],
    ['a line that begins as the boundary', `--b\r\n${part}U\r\n--bc\r\n--b--\r\n`, 'b', 'U\r\n--bc'],
    ['UTF-8', `--b\r\n${part}Köln\r\n--b--`, 'b', 'Köln'],
  ])('multipart with %s', async (_, body, boundary, city = 'Ulm') => {
    expect((await update(body, `multipart/form-data; boundary=${boundary}`)).json).toMatchObject({ city });
  });

  test.each([
    ['multipart without its end', `--b\r\n${part}Ulm\r\n`, 'multipart/form-data; boundary=b'],
    ['multipart without a boundary', `--b\r\n${part}Ulm\r\n--b--`, 'multipart/form-data'],
    [
      'multipart without the name of a field',
      '--b\r\nContent-Disposition: form-data\r\n\r\nUlm\r\n--b--',
      'multipart/form-data; boundary=b',
    ],
    ['malformed JSON', '{"city":', 'application/json'],
    ['JSON that is not an object', '["city"]', 'application/json'],
    ['JSON null', 'null', 'application/json'],
    ['multipart without its boundary', 'x', 'multipart/form-data; boundary=b'],
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'application/json'],
  ])('%s: 400', async (_, body, contentType) => {
    expect(await update(body, contentType)).toMatchObject({ status: 400, code: 'BadRequest' });
  });

  test.each([
    ['text/xml', {}],
    ['application/json', { 'content-encoding': 'gzip' }],
    ['application/json; charset=utf-16', {}],
  ])('%s %j: 415', async (contentType, headers) => {
    expect(await update('{}', contentType, headers)).toMatchObject({ status: 415, code: 'UnsupportedMediaType' });
  });

  test('over 1 MiB: 413, known beforehand or not', async () => {
    const body = Buffer.from(JSON.stringify({ city: 'x'.repeat(1024 * 1024) }));
    expect(await update(body, 'application/json')).toMatchObject({ status: 413, code: 'RequestTooLarge' });
    const announced = { 'content-length': String(body.length) };
    expect(await update('', 'application/json', announced)).toMatchObject({ status: 413, code: 'RequestTooLarge' });
  });

  test('Content-MD5 is checked', async () => {
    const right = { 'content-md5': createHash('md5').update('{"city":"m"}').digest('base64') };
    expect((await update('{"city":"m"}', 'application/json', right)).status).toBe(200);
    expect(await update('{"city":"n"}', 'application/json', right)).toMatchObject({ status: 400, code: 'BadRequest' });
  });

  test('path inputs are not overridden, unknown fields are ignored', async () => {
    const response = await service.compute('POST', '/my?account=other&login=x', { json: { account: 'other', login: 'x', id: 'y' } });
    expect(response).toMatchObject({ status: 200, json: { login: 'demo', id: service.account.id } });
  });

  test('a list that is longer than any can be is refused, also in the object storage', async () => {
    const names = Array.from({ length: 40_000 }, (_, index) => `n${index}`);
    expect(await service.compute('PUT', '/my/keys', { json: { 'role-tag': names } })).toMatchObject({
      status: 409,
      code: 'InvalidArgument',
    });
    expect(await service.storage('POST', '/demo/jobs', { json: { phases: names } })).toMatchObject({ status: 400, code: 'InvalidJob' });
  });

  test('a body that breaks off is no internal error', async () => {
    async function* fail(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{');
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
    }
    expect(await service.compute('POST', '/my', { body: fail() })).toMatchObject({ status: 499, code: 'ClientClosedRequest' });
  });
});

test('an unforeseen error is 500 without its details, which are logged', async () => {
  const broken = await createTestService();
  await broken.store.db.schema.dropTable('packages').execute();
  const response = await broken.compute('GET', '/my/packages');
  expect(response).toMatchObject({ status: 500, code: 'InternalError' });
  expect(response.text).not.toContain('packages');
  expect(broken.log.join('\n')).toContain(runsOnPostgres() ? 'relation "packages" does not exist' : 'no such table: packages');
  await broken.close();
});
