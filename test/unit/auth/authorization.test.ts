import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { AuthorizationSyntaxError, parseAuthorization, signedDate, signedText } from '../../../src/auth/authorization-header.ts';
import { createAuthorizer, type AuthorizerOptions } from '../../../src/auth/authorization.ts';
import { parseKeyId, writeKeyId } from '../../../src/auth/key-id.ts';
import { loadPrivateKey } from '../../support/private-key.ts';
import { derivePublicKey } from '../../../src/auth/public-key.ts';
import { createKeySigner, type Signer } from '../../../src/auth/signer.ts';
import { acceptedAlgorithms, isAcceptedAlgorithm, verifySignature } from '../../../src/auth/verify.ts';
import { KeyError } from '../../../src/base/errors.ts';
import { catchError, makeDsaKey, makeFolder, makeKey, signByOpenssl, verifyByOpenssl } from './witness.ts';

const folder = makeFolder();
const pems = {
  rsa: makeKey(folder, 'rsa', '-t', 'rsa', '-b', '2048', '-m', 'PEM'),
  p256: makeKey(folder, 'p256', '-t', 'ecdsa', '-b', '256', '-m', 'PEM'),
  p384: makeKey(folder, 'p384', '-t', 'ecdsa', '-b', '384', '-m', 'PEM'),
  p521: makeKey(folder, 'p521', '-t', 'ecdsa', '-b', '521', '-m', 'PEM'),
  dsa: makeDsaKey(folder, 'dsa'),
};
type Name = keyof typeof pems;

const md5 = 'fa:56:a1:6b:cc:04:97:fe:e2:98:54:c4:2e:0d:26:c6';
const keyId = `/demo/keys/${md5}`;
const moment = Date.UTC(2025, 1, 1, 10, 11, 12, 345);
const date = 'Sat, 01 Feb 2025 10:11:12 GMT';

async function loadKey(name: Name): Promise<{ signer: Signer; publicKey: KeyObject }> {
  const signer = await loadPrivateKey(pems[name]);
  return { signer, publicKey: signer.publicKey.keyObject };
}

async function authorize(name: Name, options: Pick<AuthorizerOptions, 'service' | 'form'>) {
  const { signer } = await loadKey(name);
  return createAuthorizer({ signer, keyId, now: () => moment, ...options }).headers();
}

describe('writing the Authorization header', () => {
  it("writes compute's own form over the bare date", async () => {
    const headers = await authorize('rsa', { service: 'compute' });
    const signature = signByOpenssl(pems.rsa, 'sha256', date);
    expect(headers).toEqual({ date, authorization: `Signature keyId="${keyId}",algorithm="rsa-sha256" ${signature}` });
  });

  it("writes the later form of compute, and storage's", async () => {
    const signature = signByOpenssl(pems.rsa, 'sha256', `date: ${date}`);
    const draft = await authorize('rsa', { service: 'compute', form: 'draft' });
    expect(draft.authorization).toBe(`Signature keyId="${keyId}",algorithm="rsa-sha256",headers="date",signature="${signature}"`);
    const storage = await authorize('rsa', { service: 'storage' });
    expect(storage.authorization).toBe(`Signature keyId="${keyId}",algorithm="rsa-sha256",signature="${signature}"`);
  });

  it.each([
    ['p256', 'ecdsa-sha256', 'sha256'],
    ['p384', 'ecdsa-sha384', 'sha384'],
    ['p521', 'ecdsa-sha512', 'sha512'],
    ['dsa', 'dsa-sha', 'sha1'],
  ] satisfies [Name, string, string][])('signs with %s as %s', async (name, algorithm, hash) => {
    const parsed = parseAuthorization((await authorize(name, { service: 'storage' })).authorization);
    expect(parsed.algorithm).toBe(algorithm);
    expect(verifyByOpenssl(folder, pems[name], hash, `date: ${date}`, Buffer.from(parsed.signature, 'base64'))).toBe(true);
  });

  it('is verified by the reading half in every form', async () => {
    const cases = [
      { name: 'rsa', service: 'compute' },
      { name: 'p384', service: 'compute' },
      { name: 'p384', service: 'compute', form: 'draft' },
      { name: 'dsa', service: 'storage' },
    ] as const;
    for (const { name, ...options } of cases) {
      const headers = await authorize(name, options);
      const parsed = parseAuthorization(headers.authorization);
      const text = signedText(parsed, options.service, { method: 'GET', target: '/demo', headers: { date: headers.date } });
      const { publicKey } = await loadKey(name);
      expect(verifySignature(publicKey, parsed.algorithm, text, parsed.signature)).toBe(true);
      expect(verifySignature(publicKey, parsed.algorithm, `${text} `, parsed.signature)).toBe(false);
    }
  });
});

describe('one signature for all requests of a second', () => {
  it('signs once for a thousand requests at once, and again in the next second', async () => {
    const { signer } = await loadKey('rsa');
    let now = moment;
    const authorizer = createAuthorizer({ signer, service: 'compute', keyId, now: () => now });
    const all = await Promise.all(Array.from({ length: 1000 }, () => authorizer.headers()));
    expect(new Set(all.map(({ authorization }) => authorization)).size).toBe(1);
    expect(authorizer.signatures()).toBe(1);
    now += 600;
    await authorizer.headers();
    expect(authorizer.signatures()).toBe(1);
    now += 100;
    expect((await authorizer.headers()).date).toBe('Sat, 01 Feb 2025 10:11:13 GMT');
    expect(authorizer.signatures()).toBe(2);
  });

  it('keeps a signature for as long as it is told, but not when the clock is set back', async () => {
    const { signer } = await loadKey('rsa');
    let now = moment;
    const authorizer = createAuthorizer({ signer, service: 'storage', keyId, now: () => now, window: 60 });
    const { date: first } = await authorizer.headers();
    now += 59_000;
    expect((await authorizer.headers()).date).toBe(first);
    now += 1000;
    expect((await authorizer.headers()).date).toBe('Sat, 01 Feb 2025 10:12:12 GMT');
    now -= 30_000;
    expect((await authorizer.headers()).date).toBe('Sat, 01 Feb 2025 10:11:42 GMT');
    expect(authorizer.signatures()).toBe(3);
  });

  it('does not remember a refusal', async () => {
    const { signer } = await loadKey('rsa');
    let refusals = 1;
    const moody: Signer = {
      ...signer,
      sign: async (...parameters) => {
        refusals -= 1;
        if (refusals >= 0) throw new KeyError('not now');
        return signer.sign(...parameters);
      },
    };
    const authorizer = createAuthorizer({ signer: moody, service: 'compute', keyId, now: () => moment });
    expect((await catchError(authorizer.headers())).message).toBe('not now');
    await expect(authorizer.headers()).resolves.toMatchObject({ date });
  });
});

describe('reading the Authorization header', () => {
  const legacy = { keyId: '/demo/keys/laptop', algorithm: 'rsa-sha256', signature: 'AAAA', form: 'legacy' };
  const draft = { ...legacy, form: 'draft' };
  it.each([
    ['Signature keyId="/demo/keys/laptop",algorithm="rsa-sha256" AAAA', legacy],
    ['Signature keyId=/demo/keys/laptop,algorithm="rsa-sha256" AAAA', legacy],
    ['signature keyId=/demo/keys/laptop, algorithm=RSA-SHA256   AAAA ', legacy],
    ['Signature keyId="/demo/keys/laptop",algorithm="rsa-sha256",headers="date" AAAA', { ...legacy, headers: ['date'] }],
    ['Signature keyId="/demo/keys/laptop",algorithm="rsa-sha256",signature="AAAA"', draft],
    ['Signature signature="AAAA", algorithm="rsa-sha256", keyId="/demo/keys/laptop"', draft],
    [
      'Signature keyId="/demo/keys/laptop",algorithm="rsa-sha256",headers="(request-target)  Date",signature="AAAA"',
      { ...draft, headers: ['(request-target)', 'date'] },
    ],
    ['Signature keyId="/demo/keys/a b, c",algorithm="rsa-sha256",version="1",signature="AAAA"', { ...draft, keyId: '/demo/keys/a b, c' }],
  ])('reads %s', (header, expected) => expect(parseAuthorization(header)).toEqual(expected));

  it.each([
    ['', 'scheme', /only authorization scheme is Signature/],
    ['Basic ZGVtbzpwYXNz', 'scheme', /only authorization scheme is Signature/],
    ['Signature', 'syntax', /malformed/],
    ['Signature AAAA', 'syntax', /malformed/],
    ['Signature keyId="/demo/keys/laptop', 'syntax', /malformed/],
    ['Signature keyId="/demo/keys/laptop",algorithm="rsa-sha256"', 'syntax', /lacks the signature/],
    ['Signature keyId="/demo/keys/laptop",algorithm="rsa-sha256",', 'syntax', /malformed/],
    ['Signature keyId="/demo/keys/laptop",signature="AAAA"', 'syntax', /lacks algorithm/],
    ['Signature keyId="",algorithm="rsa-sha256",signature="AAAA"', 'syntax', /lacks keyId/],
    ['Signature keyId="a",keyId="b",algorithm="rsa-sha256",signature="AAAA"', 'syntax', /has the parameter keyId twice/],
    ['Signature keyId="a",algorithm="rsa-sha256",signature="AAAA" BBBB', 'syntax', /text follows/],
    ['Signature keyId="a",algorithm="rsa-sha256" not base64!', 'syntax', /not base64/],
  ])('refuses %j', (header, reason, message) => {
    const read = (): unknown => parseAuthorization(header);
    expect(read).toThrow(AuthorizationSyntaxError);
    expect(read).toThrow(expect.objectContaining({ reason, message: expect.stringMatching(message) }));
  });

  it('makes the signed text of each form', () => {
    const request = { method: 'PUT', target: '/demo/keys?x=%20', headers: { date, host: 'localhost:8443', 'x-date': 'another' } };
    const read = (header: string, service: 'compute' | 'storage') => signedText(parseAuthorization(header), service, request);
    const start = 'Signature keyId="a",algorithm="rsa-sha256"';
    expect(read(`${start} AAAA`, 'compute')).toBe(date);
    expect(read(`${start},headers="host date" AAAA`, 'compute')).toBe(`localhost:8443\n${date}`);
    expect(read(`${start},signature="AAAA"`, 'compute')).toBe(`date: ${date}`);
    expect(read(`${start},headers="(request-target) date",signature="AAAA"`, 'compute')).toBe(
      `(request-target): put /demo/keys?x=%20\ndate: ${date}`,
    );
    expect(read(`${start},headers="x-date host",signature="AAAA"`, 'storage')).toBe('x-date: another\nhost: localhost:8443');
  });

  it('takes x-date where there is no Date, and tells which date was signed', () => {
    const parsed = parseAuthorization('Signature keyId="a",algorithm="rsa-sha256",signature="AAAA"');
    const browser = { method: 'GET', target: '/', headers: { 'x-date': 'then' } };
    expect(signedText(parsed, 'storage', browser)).toBe('x-date: then');
    expect(signedDate(parsed, browser)).toBe('then');
    const both = { ...browser, headers: { date: 'now', 'x-date': 'then' } };
    expect(signedDate(parsed, both)).toBe('now');
    expect(signedDate({ ...parsed, headers: ['x-date'] }, both)).toBe('then');
  });

  it('refuses a signature that no date or a missing header goes into', () => {
    const request = { method: 'GET', target: '/', headers: { date } };
    const read = (headers: string) =>
      signedText(parseAuthorization(`Signature keyId="a",algorithm="b",headers="${headers}",signature="AAAA"`), 'compute', request);
    expect(() => read('host')).toThrow('date must be among the signed headers');
    expect(() => read('date host')).toThrow('the header host is signed but missing');
    const parsed = parseAuthorization('Signature keyId="a",algorithm="b" AAAA');
    expect(() => signedText(parsed, 'compute', { ...request, headers: {} })).toThrow('the header date is signed but missing');
    expect(() => signedText(parsed, 'storage', request)).toThrow('lacks the parameter signature');
  });
});

describe('verifying signatures that openssl made', () => {
  it.each([
    ['rsa', 'sha1', 'rsa-sha1'],
    ['rsa', 'sha256', 'RSA-SHA256'],
    ['rsa', 'sha384', 'rsa-sha384'],
    ['rsa', 'sha512', 'rsa-sha512'],
    ['p256', 'sha256', 'ecdsa-sha256'],
    ['p384', 'sha384', 'ECDSA-sha384'],
    ['p521', 'sha512', 'ecdsa-sha512'],
    ['dsa', 'sha1', 'dsa-sha'],
    ['dsa', 'sha1', 'DSA-SHA1'],
  ] satisfies [Name, string, string][])('%s with %s as %s', async (name, hash, algorithm) => {
    const { publicKey } = await loadKey(name);
    const signature = signByOpenssl(pems[name], hash, date);
    expect(verifySignature(publicKey, algorithm, date, signature)).toBe(true);
    expect(verifySignature(publicKey, algorithm, date.replace('10:', '11:'), signature)).toBe(false);
    expect(verifySignature(publicKey, algorithm, date, `AAAA${signature.slice(4)}`)).toBe(false);
    const others = acceptedAlgorithms.storage.filter((other) => !other.startsWith(algorithm.toLowerCase().slice(0, 7)));
    for (const other of others) expect(verifySignature(publicKey, other, date, signature)).toBe(false);
  });

  it('is false, not an error, for nonsense', async () => {
    const { publicKey } = await loadKey('p256');
    for (const signature of ['', '!', 'AAAA']) expect(verifySignature(publicKey, 'ecdsa-sha256', date, signature)).toBe(false);
    expect(verifySignature(publicKey, 'hmac-sha256', date, 'AAAA')).toBe(false);
    const { publicKey: another } = generateKeyPairSync('ed25519');
    expect(verifySignature(createPublicKey(another.export({ type: 'spki', format: 'pem' })), 'rsa-sha256', date, 'AAAA')).toBe(false);
  });

  it('knows which algorithms each service takes', () => {
    expect(isAcceptedAlgorithm('compute', 'RSA-SHA1')).toBe(true);
    expect(isAcceptedAlgorithm('compute', 'dsa-sha')).toBe(false);
    expect(isAcceptedAlgorithm('storage', 'dsa-sha1')).toBe(true);
    expect(isAcceptedAlgorithm('storage', 'hmac-sha256')).toBe(false);
    expect(isAcceptedAlgorithm('storage', 'constructor')).toBe(false);
  });
});

describe('key ids', () => {
  it.each([
    ['compute', { account: 'demo', key: md5 }, keyId],
    ['compute', { account: 'demo', user: 'bob', key: md5 }, `/demo/users/bob/keys/${md5}`],
    ['storage', { account: 'demo', key: md5 }, keyId],
    ['storage', { account: 'demo', user: 'bob@example.com', key: md5 }, `/demo/bob@example.com/keys/${md5}`],
    ['storage', { account: 'dé mo', user: 'keys', key: md5 }, `/d%C3%A9%20mo/keys/keys/${md5}`],
    ['compute', { account: 'users', user: 'keys', key: 'my laptop' }, '/users/users/keys/keys/my laptop'],
  ] as const)('on %s writes and reads %j as %s', (service, id, text) => {
    expect(writeKeyId(service, id)).toBe(text);
    expect(parseKeyId(service, text)).toEqual(id);
  });

  it.each([
    '',
    '/',
    'demo/keys/a',
    '/demo',
    '/demo/keys',
    '/demo/keys/',
    '/demo/key/a',
    '/demo/keys/a/b',
    '//keys/a',
    '/demo/bob/key/a',
    '/demo/%zz/keys/a',
  ])('refuses %j', (text) => {
    expect(parseKeyId('storage', text)).toBeUndefined();
    expect(parseKeyId('compute', text)).toBeUndefined();
  });
});

it('signs off the main thread, several at once', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const signer = createKeySigner(privateKey, await derivePublicKey(privateKey), 'memory');
  const signatures = await Promise.all(Array.from({ length: 8 }, () => signer.sign(date, 'sha256')));
  expect(new Set(signatures.map((signature) => Buffer.from(signature).toString('base64'))).size).toBe(1);
});
