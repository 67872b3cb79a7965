import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Headers } from '../../../src/api/message.ts';
import { addUser, createRsaKey, createTestService, signHeaders, signText, type TestService } from '../../support/service.ts';

const clock = Date.now();
const date = new Date(clock).toUTCString();
const userKey = createRsaKey();
let service: TestService;
let keyId: string;

beforeAll(async () => {
  service = await createTestService({ now: () => clock });
  keyId = `/demo/keys/${service.key.fingerprint}`;
  await addUser(service.store, service.account, 'keys', userKey);
  await service.storage('PUT', '/demo/stor/a', { body: Buffer.from('secret') });
});
afterAll(() => service.close());

const legacy = (signed: string, names: string): string =>
  `Signature keyId="${keyId}",algorithm="rsa-sha256",headers="${names}" ${signText(service.key, signed)}`;

describe('what was signed for one thing does no other', () => {
  test('the text of a pre-signed URL is no date, whatever the order of signed headers', async () => {
    const lines = ['GET', 'compute.test', '/demo/keys', `a=${date}&expires=9`];
    const headers: Headers = {
      'x-a': 'GET',
      'x-b': '/demo/keys',
      'x-date': lines[3] ?? '',
      authorization: legacy(lines.join('\n'), 'x-a host x-b x-date'),
    };
    expect(await service.compute('GET', '/demo/keys', { signing: false, headers })).toMatchObject({ status: 400, code: 'InvalidHeader' });
  });

  test('the text that the object storage wants is no bare date of compute', async () => {
    const text = `date: ${date}`;
    const headers = { date: text, authorization: `Signature keyId="${keyId}",algorithm="rsa-sha256" ${signText(service.key, text)}` };
    expect((await service.compute('GET', '/my/keys', { signing: false, headers })).status).toBe(400);
  });

  test.each(['Sat', '1', '2026', 'x 21 Nov 2026', `(${date})`, `${date}, ${date}`, 'never', '1e99', '-1'])(
    '%j is no date',
    async (text) => {
      const headers = signHeaders('compute', { key: service.key, keyId, date: text });
      expect([400, 401]).toContain((await service.compute('GET', '/my/keys', { signing: false, headers })).status);
    },
  );

  test('a pre-signed URL for reading neither writes nor deletes, by any header either', async () => {
    const expires = Math.floor(clock / 1000) + 60;
    const query = `algorithm=rsa-sha256&expires=${expires}&keyId=${encodeURIComponent(keyId)}`;
    const signature = signText(service.key, `GET\nstorage.test\n/demo/stor/a\n${query}`);
    const target = `/demo/stor/a?${query}&signature=${encodeURIComponent(signature)}`;
    const ask = async (method: string, path = target, headers: Headers = {}) =>
      (await service.storage(method, path, { signing: false, headers })).status;
    expect(await ask('GET')).toBe(200);
    for (const method of ['PUT', 'DELETE', 'POST', 'HEAD']) expect(await ask(method)).toBe(method === 'POST' ? 405 : 403);
    for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
      expect(await ask('GET', target, { [name]: 'DELETE' })).toBe(200);
      expect(await ask('DELETE', target, { [name]: 'GET' })).toBe(403);
    }
    expect((await service.storage('GET', '/demo/stor/a')).status).toBe(200);
    // Twice the same parameter, another order, another spelling, other hosts.
    expect(await ask('GET', `${target}&expires=${expires + 999}`)).toBe(403);
    expect(await ask('GET', target.replace('/demo/stor/a', '/demo//stor/a'))).toBe(403);
    expect(await ask('GET', target.replace('/demo/stor/a', '/demo/stor/%61'))).toBe(403);
    expect(await ask('GET', target, { host: 'other.test' })).toBe(403);
    for (const odd of ['NaN', '1e99', '-1', '0x7fffffff', ' 9999999999', '9'.repeat(30)]) {
      expect(await ask('GET', target.replace(String(expires), encodeURIComponent(odd)))).toBe(403);
    }
  });
});

test('a signature that was verified is believed again for the same text and key only', async () => {
  const second = createRsaKey();
  expect((await service.compute('POST', '/my/keys', { json: { name: 'second', key: second.line } })).status).toBe(201);
  const signature = signText(second, `(request-target): get /demo/stor/a\ndate: ${date}`);
  const ask = async (method: string, path: string, { by = second.fingerprint, algorithm = 'rsa-sha256', sent = date } = {}) => {
    const names = '(request-target) date';
    const authorization = `Signature keyId="/demo/keys/${by}",algorithm="${algorithm}",headers="${names}",signature="${signature}"`;
    return (await service.storage(method, path, { signing: false, headers: { date: sent, authorization } })).status;
  };
  for (let time = 0; time < 3; time += 1) expect(await ask('GET', '/demo/stor/a')).toBe(200);
  expect(await ask('GET', '/demo/stor/b')).toBe(403);
  expect(await ask('GET', '/demo/stor/a?')).toBe(403);
  expect(await ask('DELETE', '/demo/stor/a')).toBe(403);
  expect(await ask('GET', '/demo/stor/a', { sent: new Date(clock + 1000).toUTCString() })).toBe(403);
  expect(await ask('GET', '/demo/stor/a', { by: service.key.fingerprint })).toBe(403);
  expect(await ask('GET', '/demo/stor/a', { by: `keys/${userKey.fingerprint}` })).toBe(403);
  expect(await ask('GET', '/demo/stor/a', { algorithm: 'rsa-sha512' })).toBe(403);
  expect(await ask('GET', '/demo/stor/a')).toBe(200);
  expect((await service.compute('DELETE', `/my/keys/${second.fingerprint}`)).status).toBe(204);
  expect(await ask('GET', '/demo/stor/a')).toBe(403);
});

describe('names that mean something else', () => {
  test('a sub-user is never the account, however the keyId is written', async () => {
    const bare = signHeaders('storage', { key: userKey, keyId: `/demo/keys/keys/${userKey.fingerprint}`, date });
    expect((await service.storage('GET', '/demo/stor/a', { signing: false, headers: bare })).status).toBe(403);
    for (const id of [
      `/demo/keys/${userKey.fingerprint}`,
      `/demo/keys/../keys/${userKey.fingerprint}`,
      `/demo//keys/${userKey.fingerprint}`,
      `/DEMO/keys/${userKey.fingerprint}`,
      `/demo%2Fkeys/keys/${userKey.fingerprint}`,
      `demo/keys/${userKey.fingerprint}`,
    ]) {
      for (const name of ['compute', 'storage'] as const) {
        const headers = signHeaders(name, { key: userKey, keyId: id, date });
        const { status } = await service[name]('GET', name === 'compute' ? '/my' : '/demo/stor', { signing: false, headers });
        expect([name, id, status === 401 || status === 403]).toEqual([name, id, true]);
      }
    }
  });

  test('paths that lead out of an account by any encoding are refused, or are names', async () => {
    for (const path of ['/demo/public/../stor/a', '/demo/public/%2e%2e/stor/a', '/demo/public/..%2fstor/a', '/demo/public/.%2e/stor/a']) {
      expect([path, (await service.storage('GET', path, { signing: false })).status]).toEqual([path, 400]);
    }
    for (const path of [
      '/other/../demo/stor/a',
      '/demo/public/%252e%252e/stor/a',
      '/demo/Public/a',
      '/demo/public%00/a',
      '//demo/stor/a',
      '/demo/./stor/a',
    ]) {
      expect([400, 403, 404]).toContain((await service.storage('GET', path, { signing: false })).status);
    }
    for (const path of ['/other/../demo/keys', '/demo/users/..%2fkeys', '/my%2fkeys']) {
      expect([400, 403, 404]).toContain(
        (await service.compute('GET', path, { signing: { key: service.otherKey, keyId: `/other/keys/${service.otherKey.fingerprint}` } }))
          .status,
      );
    }
  });

  test('a key proves nothing by an algorithm that is not its own', async () => {
    for (const algorithm of ['ecdsa-sha256', 'dsa-sha', 'none', 'hmac-sha256', 'rsa-md5', '__proto__', '']) {
      const headers = {
        date,
        authorization: `Signature keyId="${keyId}",algorithm="${algorithm}",signature="${signText(service.key, `date: ${date}`)}"`,
      };
      expect((await service.storage('GET', '/demo/stor/a', { signing: false, headers })).status).toBeGreaterThanOrEqual(400);
    }
    for (const signature of ['', 'AAAA', '====', 'A'.repeat(4000)]) {
      const headers = { date, authorization: `Signature keyId="${keyId}",algorithm="rsa-sha256",signature="${signature}"` };
      expect((await service.storage('GET', '/demo/stor/a', { signing: false, headers })).status).toBeGreaterThanOrEqual(400);
    }
  });

  test('names of headers and fields that every object has are names like others', async () => {
    const names = 'headers="date constructor"';
    const headers = {
      date,
      authorization: `Signature keyId="${keyId}",algorithm="rsa-sha256",${names},signature="${signText(service.key, `date: ${date}`)}"`,
    };
    expect((await service.storage('GET', '/demo/stor/a', { signing: false, headers })).status).toBe(400);
    const job = JSON.parse('{"phases":[{"exec":"true"}],"constructor":1}') as object;
    expect((await service.storage('POST', '/demo/jobs', { json: job })).code).toBe('InvalidJob');
  });
});

test('lines of the log carry no orders for a terminal and no secrets', async () => {
  // Of one that has refused nobody yet: refusals of anonymous callers are counted after the first.
  const quiet = await createTestService();
  const secret = 'signature=sesame&password=sesame';
  await quiet.compute('GET', `/my/keys?x=\u009b31m\u0085&${secret}`);
  await quiet.storage('GET', `/demo/stor/\u009b2J?${secret}`);
  const log = quiet.log.join('\n');
  // oxlint-disable-next-line no-control-regex
  expect(log).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/u);
  expect(log).not.toMatch(/sesame/u);
  expect(log).toContain('%C2%9B');
  await quiet.close();
});
