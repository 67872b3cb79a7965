import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Headers } from '../../../src/api/message.ts';
import {
  addUser,
  createEcdsaKey,
  createRsaKey,
  createTestService,
  signText,
  type TestKey,
  type TestService,
} from '../../support/service.ts';

/** The services' clock stands still, so that the edges of what is allowed can be met. */
const clock = Date.now();
let service: TestService;
const userKey = createRsaKey();
const ecdsaKey = createEcdsaKey();

beforeAll(async () => {
  service = await createTestService({ now: () => clock });
  await addUser(service.store, service.account, 'bob', userKey);
  await service.compute('POST', '/my/keys', { json: { name: 'curve', key: ecdsaKey.line } });
});
afterAll(() => service.close());

function now(offset = 0): string {
  return new Date(clock + offset * 1000).toUTCString();
}

async function ask(headers: Headers, target = '/my/keys'): Promise<[number, string | undefined, string]> {
  const response = await service.compute('GET', target, { signing: false, headers });
  return [response.status, response.code, response.text];
}

function legacy(keyId: string, key: TestKey, { date = now(), algorithm = 'rsa-sha256', hash = 'sha256' } = {}): Headers {
  return { date, authorization: `Signature keyId="${keyId}",algorithm="${algorithm}" ${signText(key, date, hash)}` };
}

describe('header forms that are accepted', () => {
  test.each(['rsa-sha1', 'rsa-sha256', 'rsa-sha384', 'RSA-SHA512'])('specification, %s', async (algorithm) => {
    const hash = algorithm.toLowerCase().slice(4);
    expect((await ask(legacy(`/demo/keys/${service.key.fingerprint}`, service.key, { algorithm, hash })))[0]).toBe(200);
  });

  test('keyId without quotes, with the key’s name, with the account’s UUID', async () => {
    const date = now();
    const bare = { date, authorization: `Signature keyId=/demo/keys/test,algorithm="rsa-sha256" ${signText(service.key, date)}` };
    expect((await ask(bare))[0]).toBe(200);
    expect((await ask(legacy(`/${service.account.id}/keys/test`, service.key)))[0]).toBe(200);
  });

  test.each([
    ['my laptop', 'my%20laptop'],
    ['my laptop', 'my laptop'],
    ['Schlüssel', 'Schlüssel'],
    ['Schlüssel', 'Schl%C3%BCssel'],
    ['Schlüssel', Buffer.from('Schlüssel').toString('latin1')],
    ['50%25', '50%25'],
    ['100%', '100%'],
  ])('keyId with the key’s name %s as %s', async (name, sent) => {
    const key = createRsaKey();
    expect((await service.compute('POST', '/my/keys', { json: { name, key: key.line } })).status).toBe(201);
    expect((await ask(legacy(`/demo/keys/${sent}`, key)))[0]).toBe(200);
    await service.compute('DELETE', `/my/keys/${key.fingerprint}`);
  });

  test('specification with a list of headers: bare values joined by newline', async () => {
    const date = now();
    const text = `${date}\ncompute.test`;
    const authorization = `Signature keyId="/demo/keys/test",algorithm="rsa-sha256",headers="date host" ${signText(service.key, text)}`;
    expect((await ask({ date, authorization }))[0]).toBe(200);
  });

  test('later draft, with and without (request-target)', async () => {
    const date = now();
    const sign = (text: string, headers: string): Headers => ({
      date,
      authorization: `Signature keyId="/demo/keys/test",algorithm="rsa-sha256",${headers}signature="${signText(service.key, text)}"`,
    });
    expect((await ask(sign(`date: ${date}`, '')))[0]).toBe(200);
    const both = `(request-target): get /my/keys?x=1\ndate: ${date}`;
    expect((await ask(sign(both, 'headers="(request-target) date",'), '/my/keys?x=1'))[0]).toBe(200);
    expect((await ask(sign(both, 'headers="(request-target) date",'), '/my/keys?x=2'))[0]).toBe(401);
  });

  test('ECDSA', async () => {
    expect((await ask(legacy('/demo/keys/curve', ecdsaKey, { algorithm: 'ecdsa-sha256' })))[0]).toBe(200);
  });

  test('of two keys with one name, either', async () => {
    const [first, second] = [createRsaKey(), createRsaKey()];
    for (const { line } of [first, second]) await service.compute('POST', '/my/keys', { json: { name: 'twin', key: line } });
    expect((await ask(legacy('/demo/keys/twin', first)))[0]).toBe(200);
    expect((await ask(legacy('/demo/keys/twin', second)))[0]).toBe(200);
  });

  test('a sub-user is known, and denied until a role allows', async () => {
    expect((await ask(legacy('/demo/users/bob/keys/first', userKey))).slice(0, 2)).toEqual([403, 'NotAuthorized']);
  });
});

describe('refusals', () => {
  const unknown = 'the signature does not match a known key';

  test.each([
    ['unknown account', '/nobody/keys/test'],
    ['unknown key', '/demo/keys/nothing'],
    ['unknown user', '/demo/users/nobody/keys/test'],
    ['my in keyId', '/my/keys/test'],
    ['malformed keyId', 'demo'],
  ])('%s: 401, the same words', async (_, keyId) => {
    const [status, code, text] = await ask(legacy(keyId, service.key));
    expect([status, code]).toEqual([401, 'InvalidCredentials']);
    expect(text).toContain(unknown);
  });

  test('wrong signature: 401, the same words', async () => {
    const [status, code, text] = await ask(legacy('/demo/keys/test', service.otherKey));
    expect([status, code]).toEqual([401, 'InvalidCredentials']);
    expect(text).toContain(unknown);
  });

  test('no header, another scheme: 401', async () => {
    expect((await ask({ date: now() })).slice(0, 2)).toEqual([401, 'InvalidCredentials']);
    expect((await ask({ date: now(), authorization: 'Basic ZGVtbzpkZW1v' })).slice(0, 2)).toEqual([401, 'InvalidCredentials']);
  });

  test('unsupported algorithm: 401 naming it', async () => {
    for (const algorithm of ['hmac-sha256', 'dsa-sha1', 'rsa-md5']) {
      const [status, code, text] = await ask(legacy('/demo/keys/test', service.key, { algorithm }));
      expect([status, code]).toEqual([401, 'InvalidCredentials']);
      expect(text).toContain(algorithm);
    }
  });

  test.each([301, -301, 86_400])('a date %i s off: 401 with the seconds', async (offset) => {
    const [status, code, text] = await ask(legacy('/demo/keys/test', service.key, { date: now(offset) }));
    expect([status, code]).toEqual([401, 'InvalidCredentials']);
    expect(text).toContain(`${Math.abs(offset)} seconds`);
  });

  test.each([300, -300])('a date %i s off is accepted', async (offset) => {
    expect((await ask(legacy('/demo/keys/test', service.key, { date: now(offset) })))[0]).toBe(200);
  });

  test.each(['Signature', 'Signature keyId="/demo/keys/test"', 'Signature ,,,', 'Signature keyId="x",algorithm="rsa-sha256"'])(
    'unparsable header %j: 400 InvalidHeader',
    async (authorization) => {
      expect((await ask({ date: now(), authorization })).slice(0, 2)).toEqual([400, 'InvalidHeader']);
    },
  );

  test('missing or unparsable date: 400 InvalidHeader', async () => {
    const { authorization = '' } = legacy('/demo/keys/test', service.key);
    expect((await ask({ authorization })).slice(0, 2)).toEqual([400, 'InvalidHeader']);
    const broken = legacy('/demo/keys/test', service.key, { date: 'yesterday' });
    expect((await ask(broken)).slice(0, 2)).toEqual([400, 'InvalidHeader']);
  });

  test('date not among the signed headers: 400 InvalidHeader', async () => {
    const date = now();
    const authorization = `Signature keyId="/demo/keys/test",algorithm="rsa-sha256",headers="host",signature="${signText(service.key, 'host: compute.test')}"`;
    expect((await ask({ date, authorization })).slice(0, 2)).toEqual([400, 'InvalidHeader']);
  });

  test('another account: 403; an unknown one: 404', async () => {
    const signed = legacy('/demo/keys/test', service.key);
    expect((await ask(signed, '/other/keys')).slice(0, 2)).toEqual([403, 'NotAuthorized']);
    expect((await ask(signed, '/nobody/keys')).slice(0, 2)).toEqual([404, 'ResourceNotFound']);
  });
});

describe('pre-signed URLs', () => {
  const expires = String(Math.floor(clock / 1000) + 60);

  function encode(text: string): string {
    return encodeURIComponent(text).replace(/[!'()*]/gu, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  }

  function presign(path: string, methods = 'GET', pairs: Record<string, string> = {}): string {
    const all: Record<string, string> = { algorithm: 'rsa-sha256', expires, keyId: '/demo/keys/test', ...pairs };
    const query = Object.keys(all)
      .sort()
      .map((name) => `${encode(name)}=${encode(all[name] ?? '')}`)
      .join('&');
    const text = `${methods}\ncompute.test\n${path}\n${query}`;
    return `${path}?${query}&signature=${encode(signText(service.key, text))}`;
  }

  test('needs neither Authorization nor Accept-Version', async () => {
    const { status } = await service.handlers.compute(
      { method: 'GET', target: presign('/my/keys'), headers: { host: 'compute.test' } },
      { remoteAddress: '', secure: true },
    );
    expect(status).toBe(200);
  });

  test('several methods, and parameters of the request', async () => {
    const target = presign('/my/packages', 'GET,HEAD', { method: 'HEAD,GET', name: 'g1-*' });
    const { status } = await service.handlers.compute(
      { method: 'HEAD', target, headers: { host: 'compute.test' } },
      { remoteAddress: '', secure: true },
    );
    expect(status).toBe(200);
  });

  test('expired, incomplete, another method, another path: 401', async () => {
    const refused: [number, string] = [401, 'InvalidCredentials'];
    const headers = { 'accept-version': '*' };
    const ask = async (target: string): Promise<unknown> => {
      const { status, code } = await service.compute('GET', target, { signing: false, headers });
      return [status, code];
    };
    expect(await ask(presign('/my/keys', 'GET', { expires: '1000' }))).toEqual(refused);
    expect(await ask(presign('/my/keys').replace(/&expires=\d+|expires=\d+&/u, ''))).toEqual(refused);
    expect(await ask(presign('/my/keys', 'HEAD', { method: 'HEAD' }))).toEqual(refused);
    expect(await ask(presign('/my/keys').replace('/my/keys', '/my/packages'))).toEqual(refused);
  });
});
