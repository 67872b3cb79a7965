import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { prepareTls } from '../../../src/server/http/certificates.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cloud-tls-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('of several services that start at once with an empty folder all have one certificate, of one authority', async () => {
  const made = await Promise.all(Array.from({ length: 4 }, () => prepareTls(join(dir, 'tls'), ['localhost'], Date.now())));
  expect(new Set(made.map(({ certificate, key }) => certificate + key)).size).toBe(1);
  const authority = new X509Certificate(readFileSync(made[0]?.caFile ?? ''));
  for (const { certificate } of made) expect(new X509Certificate(certificate).verify(authority.publicKey)).toBe(true);
  expect(await prepareTls(join(dir, 'tls'), ['localhost'], Date.now())).toEqual(made[0]);
});

test('a name that the certificate lacks makes another, under the same authority', async () => {
  const first = await prepareTls(dir, ['localhost'], Date.now());
  const authority = readFileSync(first.caFile, 'utf8');
  const again = await Promise.all([0, 1].map(() => prepareTls(dir, ['localhost', 'cloud.example.com'], Date.now())));
  expect(again[0]).toEqual(again[1]);
  expect(again[0]?.certificate).not.toBe(first.certificate);
  expect(readFileSync(first.caFile, 'utf8')).toBe(authority);
});
