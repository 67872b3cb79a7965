import { createHash, generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Headers } from '../../src/api/message.ts';
import { derivePublicKey } from '../../src/auth/public-key.ts';
import {
  addUser,
  createEcdsaKey,
  createRsaKey,
  createTestService,
  signHeaders,
  signText,
  type Sending,
  type TestKey,
  type TestService,
} from '../support/service.ts';

/** The services' clock stands still, so that the edges of what is allowed can be met. */
const clock = Date.now();
const date = new Date(clock).toUTCString();
const userKey = createRsaKey();
const curves = { sha256: createEcdsaKey(256), sha384: createEcdsaKey(384), sha512: createEcdsaKey(521) };
let service: TestService;

beforeAll(async () => {
  service = await createTestService({ now: () => clock });
  await addUser(service.store, service.account, 'bob', userKey);
  for (const { line } of Object.values(curves)) await service.compute('POST', '/my/keys', { json: { key: line } });
  await service.storage('PUT', '/demo/public/page', { body: Buffer.from('hello') });
  await service.storage('PUT', '/demo/stor/private', { body: Buffer.from('secret') });
});
afterAll(() => service.close());

type Outcome = [number, string | undefined];

async function send(method: string, target: string, sending: Sending): Promise<Outcome> {
  const { status, code } = await service.storage(method, target, sending);
  return [status, code];
}

function ask(headers: Headers, target = '/demo/stor'): Promise<Outcome> {
  return send('GET', target, { signing: false, headers });
}

function sign(keyId: string, key: TestKey, { algorithm = 'rsa-sha256', text = `date: ${date}`, hash = 'sha256', rest = '' } = {}): Headers {
  return { date, authorization: `Signature keyId="${keyId}",algorithm="${algorithm}",${rest}signature="${signText(key, text, hash)}"` };
}

function own(): string {
  return `/demo/keys/${service.key.fingerprint}`;
}

describe('accepted', () => {
  test.each(['rsa-sha1', 'RSA-SHA256', 'rsa-sha384', 'rsa-sha512'])('%s', async (algorithm) => {
    expect((await ask(sign(own(), service.key, { algorithm, hash: algorithm.slice(4).toLowerCase() })))[0]).toBe(200);
  });

  test.each(Object.entries(curves))('ecdsa-%s', async (hash, key) => {
    expect((await ask(sign(`/demo/keys/${key.fingerprint}`, key, { algorithm: `ecdsa-${hash}`, hash })))[0]).toBe(200);
  });

  test('DSA, under both names', async () => {
    const { privateKey } = generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 });
    const { openssh, fingerprints } = await derivePublicKey(privateKey);
    const key = { privateKey, line: openssh, fingerprint: fingerprints.md5 };
    expect((await service.compute('POST', '/my/keys', { json: { key: key.line } })).status).toBe(201);
    for (const algorithm of ['dsa-sha', 'DSA-SHA1'])
      expect((await ask(sign(`/demo/keys/${key.fingerprint}`, key, { algorithm, hash: 'sha1' })))[0]).toBe(200);
  });

  test('a space after the comma, a list of headers, a percent-encoded keyId', async () => {
    const spaced = sign(own(), service.key);
    expect((await ask({ date, authorization: (spaced['authorization'] ?? '').replaceAll('",', '", ') }))[0]).toBe(200);
    const text = `(request-target): get /demo/stor\nhost: storage.test\ndate: ${date}`;
    expect((await ask(sign(own(), service.key, { text, rest: 'headers="(request-target) host date",' })))[0]).toBe(200);
    expect((await ask(sign(own().replaceAll(':', '%3A'), service.key)))[0]).toBe(200);
  });

  test('anyone reads under public, nobody else writes there', async () => {
    expect((await ask({}, '/demo/public/page'))[0]).toBe(200);
    expect((await ask({}, '/demo/public'))[0]).toBe(200);
    expect(await send('PUT', '/demo/public/page', { signing: false })).toEqual([403, 'AuthorizationFailed']);
    expect(await send('GET', '/demo/public/page', { signing: false, secure: false })).toEqual([403, 'SecureTransportRequired']);
  });
});

describe('refused', () => {
  test.each([
    ['account', '/nobody/keys/aa:bb', 'AccountDoesNotExist'],
    ['user', '/demo/nobody/keys/aa:bb', 'UserDoesNotExist'],
    ['key', '/demo/keys/aa:bb', 'KeyDoesNotExist'],
    ['form of keyId', '/demo/aa:bb', 'InvalidKeyId'],
    ['form of keyId', '/demo/users/bob/keys/aa:bb', 'InvalidKeyId'],
  ])('unknown %s %s: 403 %s', async (_, keyId, code) => {
    expect(await ask(sign(keyId, service.key))).toEqual([403, code]);
  });

  test('wrong signature: 403', async () => {
    expect(await ask(sign(own(), service.otherKey))).toEqual([403, 'InvalidSignature']);
  });

  test('unknown algorithm: 401', async () => {
    expect(await ask(sign(own(), service.key, { algorithm: 'hmac-sha256' }))).toEqual([401, 'InvalidAlgorithm']);
  });

  test('another scheme: 403; an unreadable header: 400', async () => {
    expect(await ask({ date, authorization: 'Basic ZGVtbzpkZW1v' })).toEqual([403, 'AuthorizationSchemeNotAllowed']);
    expect(await ask({ date, authorization: 'Signature nonsense' })).toEqual([400, 'InvalidHeader']);
  });

  test.each([301, -301])('a date %i s off: 400 naming the seconds', async (offset) => {
    const late = new Date(clock + offset * 1000).toUTCString();
    const headers = signHeaders('storage', { key: service.key, keyId: own(), date: late });
    const { status, code, text } = await service.storage('GET', '/demo/stor', { signing: false, headers });
    expect([status, code]).toEqual([400, 'InvalidHeader']);
    expect(text).toContain('301 seconds');
  });

  test('anonymous outside public, another account: 403; nothing there: 404', async () => {
    expect(await ask({}, '/demo/stor/private')).toEqual([403, 'AuthorizationFailed']);
    expect(await ask({}, '/demo/publicity')).toEqual([403, 'AuthorizationFailed']);
    const foreign = sign(`/other/keys/${service.otherKey.fingerprint}`, service.otherKey);
    expect(await ask(foreign, '/demo/stor/private')).toEqual([403, 'AuthorizationFailed']);
    expect(await ask(foreign, '/demo/stor/nothing')).toEqual([404, 'ResourceNotFound']);
    expect(await ask(sign(own(), service.key), '/nobody/stor')).toEqual([404, 'ResourceNotFound']);
  });

  test('a sub-user until a role is among the tags of the resource and allows: 403', async () => {
    expect(await ask(sign(`/demo/bob/keys/${userKey.fingerprint}`, userKey))).toEqual([403, 'NoMatchingRoleTag']);
  });

  test('plain HTTP: 403', async () => {
    expect(await send('GET', '/demo/stor', { secure: false })).toEqual([403, 'SecureTransportRequired']);
    expect(await send('PUT', '/demo/public/x', { secure: false })).toEqual([403, 'SecureTransportRequired']);
  });
});

describe('signed URLs', () => {
  const expires = String(Math.floor(clock / 1000) + 60);

  function presign(path: string, methods = 'GET', pairs: Record<string, string> = {}): string {
    const all: Record<string, string> = { algorithm: 'rsa-sha256', expires, keyId: own(), ...pairs };
    const query = Object.keys(all)
      .sort()
      .map((name) => `${name}=${encodeURIComponent(all[name] ?? '')}`)
      .join('&');
    const signature = signText(service.key, `${methods}\nstorage.test\n${path}\n${query}`);
    return `${path}?${query}&signature=${encodeURIComponent(signature)}`;
  }

  test('with and without user, with methods, also by plain HTTP', async () => {
    for (const pairs of [{}, { user: 'demo' }]) {
      const { status, text } = await service.storage('GET', presign('/demo/stor/private', 'GET', pairs), { signing: false, secure: false });
      expect([status, text]).toEqual([200, 'secret']);
    }
    const target = presign('/demo/stor/private', 'GET,HEAD', { method: 'GET,HEAD' });
    expect((await send('HEAD', target, { signing: false }))[0]).toBe(200);
  });

  test('expired, incomplete, another method: 403', async () => {
    const refused = [403, 'InvalidQueryStringAuthentication'];
    const path = '/demo/stor/private';
    expect(await ask({}, presign(path, 'GET', { expires: '1000' }))).toEqual(refused);
    expect(await ask({}, presign(path).replace(/expires=\d+&/u, ''))).toEqual(refused);
    expect(await ask({}, presign(path, 'PUT', { method: 'PUT' }))).toEqual(refused);
  });

  test('another path or value: 403 InvalidSignature', async () => {
    const target = presign('/demo/stor/private');
    expect(await ask({}, target.replace('private', 'other'))).toEqual([403, 'InvalidSignature']);
    expect(await ask({}, target.replace(expires, String(Number(expires) + 1)))).toEqual([403, 'InvalidSignature']);
    expect(await send('PUT', target.replace('&sign', '&x=1&sign'), { signing: false })).toEqual([403, 'InvalidSignature']);
  });
});

test('every response carries the common headers', async () => {
  const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
  for (const target of ['/demo/stor', '/demo/stor/nothing']) {
    const { headers, status, text } = await service.storage('GET', target, { headers: { 'x-request-id': id } });
    expect(Object.keys(headers)).toEqual(expect.arrayContaining(['server', 'x-request-id', 'x-response-time', 'x-server-name', 'date']));
    expect(headers['x-request-id']).toBe(id);
    // Errors have the MD5 of what they say.
    if (status >= 400) expect(headers['content-md5']).toBe(createHash('md5').update(text).digest('base64'));
  }
});
