import { expect, test } from 'vitest';
import { checkPresigned, type KnownKey, type PresignedUrl } from '../../../src/auth/check-presigned.ts';
import { presignedText, splitTarget } from '../../../src/auth/presign.ts';
import { loadPrivateKey } from '../../support/private-key.ts';
import type { HashName, Signer } from '../../../src/auth/signer.ts';
import { makeFolder, makeKey } from './witness.ts';

const folder = makeFolder();
const signer = await loadPrivateKey(makeKey(folder, 'rsa', '-t', 'rsa', '-b', '2048'));
const other = await loadPrivateKey(makeKey(folder, 'other', '-t', 'rsa', '-b', '2048'));
const known = [signer, other].map(({ publicKey }, at): KnownKey => ({ publicKey, source: `key ${at}` }));
const expires = 1_750_000_000;
const now = (expires - 60) * 1000;
const host = 'stor.example.com:8443';
const keyId = encodeURIComponent(`/demo/keys/${signer.publicKey.fingerprints.md5}`);
const bare = `/demo/stor/a%20b%27c?algorithm=rsa-sha256&expires=${expires}&keyId=${keyId}&user=demo`;

/** A URL by a program that signs a text of its own. */
async function make(
  change: (text: string) => string,
  { by = signer, hash = 'sha256', target = bare }: { by?: Signer; hash?: HashName; target?: string } = {},
): Promise<PresignedUrl> {
  const text = presignedText({ methods: ['GET'], host, ...splitTarget(target) });
  const signature = Buffer.from(await by.sign(change(text), hash)).toString('base64');
  return { service: 'storage', target: `${target}&signature=${encodeURIComponent(signature)}`, host, otherHosts: ['stor.example.com'] };
}

const inLine = (line: number, change: (text: string) => string) => (text: string) =>
  text
    .split('\n')
    .map((each, at) => (at === line - 1 ? change(each) : each))
    .join('\n');

test('a right signature fits, with the method that it is for', async () => {
  expect(checkPresigned(await make((text) => text), known, now)).toMatchObject({
    result: 'fits',
    methods: ['GET'],
    key: { source: 'key 0' },
    keyId: { account: 'demo' },
    expires: expires * 1000,
    problems: [],
  });
  const put = await make(inLine(1, () => 'PUT'));
  expect(checkPresigned(put, known, now)).toMatchObject({ result: 'fits', methods: ['PUT'] });
});

test.each([
  ['methods in small letters', 1, 'get'],
  ['a host without its port', 2, 'stor.example.com'],
  ['a decoded path', 3, "/demo/stor/a b'c"],
  ['a path encoded by encodeURI', 3, "/demo/stor/a%20b'c"],
  ['a path with a slash at its end', 3, '/demo/stor/a%20b%27c/'],
])('%s: line %i', async (_, line, signed) => {
  const { result, difference } = checkPresigned(await make(inLine(line, () => signed)), known, now);
  expect([result, difference?.line, difference?.signed]).toEqual(['differs', line, signed]);
});

test.each([
  ['a newline at the end', (query: string) => `${query}\n`],
  ['a decoded query', (query: string) => decodeURIComponent(query)],
])('%s: line 4', async (_, change) => {
  const { difference } = checkPresigned(await make(inLine(4, change)), known, now);
  expect(difference?.line).toBe(4);
  expect(difference?.signed).toBe(change(difference?.url ?? ''));
});

test('parameters in the order of the URL, and one that was added on the way', async () => {
  const unsorted = bare.replace(/\?(algorithm=[^&]*)&(.*)/, '?$2&$1');
  const raw = await make(
    inLine(4, () => unsorted.split('?')[1] ?? ''),
    { target: unsorted },
  );
  expect(checkPresigned(raw, known, now).difference?.signed).toBe(unsorted.split('?')[1]);
  const added = await make((text) => text);
  const found = checkPresigned({ ...added, target: added.target.replace('?', '?utm=1&') }, known, now);
  expect(found.difference).toMatchObject({ line: 4, signed: bare.split('?')[1] });
});

test('another key, another hash, and what nothing explains', async () => {
  const foreign = checkPresigned(await make((text) => text, { by: other }), known, now);
  expect([foreign.result, foreign.problems.join()]).toEqual(['differs', expect.stringContaining('(key 1)')]);
  const long = checkPresigned(await make((text) => text, { hash: 'sha512' }), known, now);
  expect([long.result, long.problems]).toEqual(['differs', ['it was signed with rsa-sha512, but its parameter algorithm is rsa-sha256']]);
  const odd = checkPresigned(await make(() => 'something else'), known, now);
  expect([odd.result, odd.difference, odd.methods]).toEqual(['differs', undefined, []]);
  expect(checkPresigned(await make((text) => text), known.slice(1), now)).toMatchObject({
    result: 'unknown',
    problems: [],
    methods: [],
  });
});

test('a key that is named, not given by fingerprint, is any key at hand or unknown', async () => {
  const target = bare.replace(keyId, encodeURIComponent('/demo/keys/laptop')).replace('&user=demo', '');
  const url = { ...(await make((text) => text, { target })), service: 'compute' as const };
  expect(checkPresigned(url, known, now)).toMatchObject({ result: 'fits', key: { source: 'key 0' }, keyId: { key: 'laptop' } });
  expect(checkPresigned({ ...url, host: 'elsewhere' }, known, now).result).toBe('unknown');
});

test('what a service refuses whatever the signature is', async () => {
  const good = await make((text) => text);
  const problemsOf = (change: (target: string) => string, at = now): string =>
    checkPresigned({ ...good, target: change(good.target) }, known, at).problems.join('; ');
  expect(problemsOf((target) => target, now + 70_000)).toBe('the pre-signed URL expired 10 s ago');
  expect(problemsOf((target) => target.replace(/&expires=\d+/, ''))).toContain('lacks expires');
  expect(problemsOf((target) => target.replace('rsa-sha256', 'md5'))).toContain('does not accept the algorithm md5');
  expect(problemsOf((target) => target.replace('%2Fkeys%2F', '%2Fkey%2F'))).toContain('does not have the form');
  expect(problemsOf((target) => `${target}&user=%ff`)).toContain('not percent-encoded');
  expect(problemsOf((target) => `${target}&method=PUT`)).toBe('');
  const { problems } = checkPresigned({ ...good, target: `${good.target}&method=PUT`, method: 'GET' }, known, now);
  expect(problems.join()).toContain('is for PUT, not for GET');
});
