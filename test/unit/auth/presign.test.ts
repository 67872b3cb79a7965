import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { AuthorizationSyntaxError } from '../../../src/auth/authorization-header.ts';
import { parsePresigned, presign, presignedText, type PresignOptions } from '../../../src/auth/presign.ts';
import { loadPrivateKey } from '../../support/private-key.ts';
import { verifySignature } from '../../../src/auth/verify.ts';
import { makeFolder, makeKey, signByOpenssl } from './witness.ts';

const folder = makeFolder();
const pem = makeKey(folder, 'rsa', '-t', 'rsa', '-b', '2048', '-m', 'PEM');
const signer = await loadPrivateKey(pem);
const expires = 1_750_000_000;
const now = (expires - 60) * 1000;
const keyId = '/demo/keys/aa:bb';
const base: PresignOptions = {
  service: 'storage',
  signer,
  keyId,
  methods: ['GET'],
  host: 'localhost:8444',
  path: '/demo/stor/a%20b',
  user: 'demo',
  expires,
};

function read(target: string, { method = 'GET', host = 'localhost:8444', at = now } = {}) {
  return parsePresigned({ method, target, host }, at);
}

function check(target: string, request?: Parameters<typeof read>[1]): boolean {
  const parsed = read(target, request);
  return parsed !== undefined && verifySignature(signer.publicKey.keyObject, parsed.algorithm, parsed.texts[0] ?? '', parsed.signature);
}

describe('pre-signed URLs', () => {
  it("signs storage's four lines, computed by hand", async () => {
    const text = `GET\nlocalhost:8444\n/demo/stor/a%20b\nalgorithm=rsa-sha256&expires=${expires}&keyId=%2Fdemo%2Fkeys%2Faa%3Abb&user=demo`;
    const signature = encodeURIComponent(signByOpenssl(pem, 'sha256', text));
    expect(await presign(base)).toBe(
      `/demo/stor/a%20b?algorithm=rsa-sha256&expires=${expires}&keyId=%2Fdemo%2Fkeys%2Faa%3Abb&user=demo&signature=${signature}`,
    );
  });

  it("signs compute's four lines, with the list of methods twice and no user", async () => {
    const target = await presign({
      ...base,
      service: 'compute',
      methods: ['POST', 'GET'],
      path: '/demo/images',
      query: [['name', "it's (a) b*!"]],
    });
    const query = `algorithm=rsa-sha256&expires=${expires}&keyId=%2Fdemo%2Fkeys%2Faa%3Abb&method=GET%2CPOST&name=it%27s%20%28a%29%20b%2A%21`;
    const signature = encodeURIComponent(signByOpenssl(pem, 'sha256', `GET,POST\nlocalhost:8444\n/demo/images\n${query}`));
    expect(target).toBe(`/demo/images?${query}&signature=${signature}`);
    expect(check(target)).toBe(true);
    expect(check(target, { method: 'POST' })).toBe(true);
    expect(() => check(target, { method: 'DELETE' })).toThrow('the pre-signed URL is for GET, POST, not for DELETE');
  });

  it('reads the order and spelling of others: methods in any order, spaces as +, signature first', () => {
    const text = `DELETE,GET\nhost\n/demo\nalgorithm=rsa-sha256&expires=${expires}&keyId=k&method=GET%2C%20DELETE&name=a%20b`;
    const signature = encodeURIComponent(signByOpenssl(pem, 'sha256', text));
    const target = `/demo?signature=${signature}&name=a+b&keyId=k&method=GET,+DELETE&expires=${expires}&algorithm=rsa-sha256`;
    expect(read(target, { host: 'host' })?.texts[0]).toBe(text);
    expect(check(target, { host: 'host' })).toBe(true);
  });

  it('covers method, host, path and every parameter', async () => {
    const target = await presign({ ...base, query: [['limit', '5']] });
    expect(check(target)).toBe(true);
    expect(read(target)).toMatchObject({ keyId, algorithm: 'rsa-sha256', user: 'demo' });
    expect(check(target, { method: 'PUT' })).toBe(false);
    expect(check(target, { host: 'localhost' })).toBe(false);
    expect(check(target.replace('a%20b', 'a%20c'))).toBe(false);
    expect(check(target.replace('limit=5', 'limit=6'))).toBe(false);
    expect(check(`${target}&more=1`)).toBe(false);
  });

  it('refuses what is incomplete, expired or malformed, with words', async () => {
    const target = await presign(base);
    const cases: [string, string][] = [
      [target.replace(/&signature=.*/, ''), 'the pre-signed URL lacks signature'],
      [target.replace(/keyId=[^&]*&/, ''), 'the pre-signed URL lacks keyId'],
      [target.replace(/algorithm=[^&]*&/, ''), 'the pre-signed URL lacks algorithm'],
      [target.replace(/expires=[^&]*&/, ''), 'the pre-signed URL lacks expires'],
      [`${target}&keyId=other`, 'the pre-signed URL has keyId twice'],
      [target.replace(/expires=\d+/, 'expires=tomorrow'), 'expires must be a positive number'],
      [target.replace(/expires=\d+/, 'expires=-1'), 'expires must be a positive number'],
      [`${target}&a=%zz`, 'not percent-encoded'],
    ];
    for (const [bad, message] of cases) expect(() => read(bad)).toThrow(message);
    expect(() => read(target, { at: (expires + 5) * 1000 })).toThrow('the pre-signed URL expired 5 s ago');
    expect(() => read(target, { at: expires * 1000 })).not.toThrow();
    expect(() => read(cases[0]?.[0] ?? '')).toThrow(AuthorizationSyntaxError);
  });

  it('leaves ordinary requests alone', () => {
    expect(read('/demo/stor/a')).toBeUndefined();
    expect(read('/demo/stor?limit=5&expires=1')).toBeUndefined();
  });

  it('sorts by name and keeps equal names in their order', () => {
    const query = ['b', 'a', 'B', 'é', 'a'].map((name, index) => [name, String(index)] as const);
    const text = presignedText({ methods: ['GET', 'PUT'], host: 'h', path: '/p', query: [...query, ['signature', 'x']] });
    expect(text).toBe('GET,PUT\nh\n/p\nB=2&a=1&a=4&b=0&%C3%A9=3');
    expect(createHash('md5').update(text).digest('hex')).toHaveLength(32);
  });
});
