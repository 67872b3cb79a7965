import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAuthority, createServerCertificate } from '../../../src/auth/authority.ts';
import { prepareTls } from '../../../src/server/http/certificates.ts';
import { followTls, readTls, type TlsPair } from '../../../src/server/http/tls-source.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cloud-tls-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const day = 86_400_000;
const read = (name: string): string => readFileSync(join(dir, name), 'utf8');
/** Throws unless the certificate is of the authority of the folder, and good for the names. */
function expectIssued({ certificate }: { certificate: string }, names: readonly string[]): void {
  const parsed = new X509Certificate(certificate);
  expect(parsed.verify(new X509Certificate(read('ca.pem')).publicKey)).toBe(true);
  for (const name of names) expect(parsed.checkHost(name), name).toBe(name);
}

describe('a folder of an authority and a certificate', () => {
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

  test('made by many at once has one authority, which is that of all certificates', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, (_, each) => prepareTls(dir, ['localhost', `g${each}.test`], Date.now())));
    for (const [each, tls] of made.entries()) expectIssued(tls, [`g${each}.test`]);
    expect(statSync(join(dir, 'ca.key.pem')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, 'server.key.pem')).mode & 0o777).toBe(0o600);
  });

  test('a certificate that is made anew keeps the names of the one before, so that those who share the folder come to an end', async () => {
    const first = await prepareTls(dir, ['localhost', 'a.test', '127.0.0.1'], Date.now());
    const second = await prepareTls(dir, ['localhost', 'b.test'], Date.now());
    expectIssued(second, ['a.test', 'b.test']);
    expect(await prepareTls(dir, ['localhost', 'a.test', '127.0.0.1'], Date.now())).toEqual(second);
    expect(second.certificate).not.toBe(first.certificate);
    const later = await prepareTls(dir, ['localhost'], Date.now() + 725 * day);
    expect(later.certificate).not.toBe(second.certificate);
    expectIssued(later, ['a.test', 'b.test']);
  });

  test('who was killed in the middle is no obstacle', async () => {
    const first = await prepareTls(dir, ['localhost'], Date.now());
    const authority = read('ca.pem');
    unlinkSync(join(dir, 'ca.pem'));
    unlinkSync(join(dir, 'server.pem'));
    expect(await prepareTls(dir, ['localhost'], Date.now())).toEqual(first);
    expect(read('ca.pem')).toBe(authority);
    unlinkSync(join(dir, 'server.key.pem'));
    expectIssued(await prepareTls(dir, ['localhost'], Date.now()), ['localhost']);
    expect(read('ca.pem')).toBe(authority);
  });

  test('that an earlier release made, key and certificate each in a file, stays; half of an authority is replaced', async () => {
    const authority = await createAuthority('earlier');
    const server = await createServerCertificate(authority, ['localhost']);
    writeFileSync(join(dir, 'ca.key.pem'), authority.key);
    writeFileSync(join(dir, 'ca.pem'), authority.certificate);
    writeFileSync(join(dir, 'server.key.pem'), server.key);
    writeFileSync(join(dir, 'server.pem'), server.certificate);
    expect(await prepareTls(dir, ['localhost'], Date.now())).toEqual({ ...server, caFile: join(dir, 'ca.pem') });
    unlinkSync(join(dir, 'ca.pem'));
    expectIssued(await prepareTls(dir, ['localhost'], Date.now()), ['localhost']);
    expect(read('ca.pem')).not.toBe(authority.certificate);
  });

  test('a certificate of another authority, or with another key, is not used', async () => {
    await prepareTls(dir, ['localhost'], Date.now());
    const other = await createServerCertificate(await createAuthority('other'), ['localhost']);
    writeFileSync(join(dir, 'server.key.pem'), other.key + other.certificate);
    expectIssued(await prepareTls(dir, ['localhost'], Date.now()), ['localhost']);
    writeFileSync(join(dir, 'server.key.pem'), other.key + read('server.pem'));
    expectIssued(await prepareTls(dir, ['localhost'], Date.now()), ['localhost']);
  });
});

describe('a certificate that follows its files', () => {
  const place = (): { certificate: string; key: string } => ({ certificate: join(dir, 'cert.pem'), key: join(dir, 'key.pem') });
  const write = (pair: { certificate: string; key: string }): void => {
    writeFileSync(place().certificate, pair.certificate);
    writeFileSync(place().key, pair.key);
  };

  test('what cannot be used is named by the file, without what is in it', async () => {
    const pair = await createServerCertificate(await createAuthority('Test'), ['localhost']);
    const other = await createServerCertificate(await createAuthority('Test'), ['localhost']);
    const reading = (): Promise<TlsPair> => readTls(place(), [], Date.now());
    await expect(reading()).rejects.toThrow(/cert\.pem: cannot be read/u);
    write({ ...pair, key: other.key });
    await expect(reading()).rejects.toThrow(/key\.pem: does not match the certificate .*cert\.pem/u);
    write({ ...pair, key: 'hush-hush' });
    await expect(reading()).rejects.toThrow(/^[^\n]*key\.pem: cannot be used: (?!.*hush)/u);
    write({ ...pair, certificate: 'hush-hush' });
    await expect(reading()).rejects.toThrow(/^[^\n]*cert\.pem: cannot be used: (?!.*hush)/u);
    write(pair);
    await expect(readTls(place(), [], Date.now() + 800 * day)).rejects.toThrow(/cert\.pem: the certificate expired on 2/u);
    const { end } = await reading();
    expect(end).toBe(Date.parse(new X509Certificate(pair.certificate).validTo));
  });

  test('a new pair is used, a bad one keeps the old one and is logged once', async () => {
    const authority = await createAuthority('Test');
    const [first, second] = [
      await createServerCertificate(authority, ['localhost']),
      await createServerCertificate(authority, ['localhost']),
    ];
    const [used, lines]: [TlsPair[], string[]] = [[], []];
    let refused = false;
    write(first);
    const reading = (): Promise<TlsPair> => readTls(place(), [], Date.now());
    const use = (pair: TlsPair): void => {
      if (refused) throw new Error('no such cipher');
      used.push(pair);
    };
    const source = followTls(reading, await reading(), { use, log: (line) => void lines.push(line), period: 3_600_000 });
    await source.reload();
    expect([used, lines]).toEqual([[], []]);
    write({ ...second, key: first.key });
    await source.reload();
    await source.reload();
    expect(used).toEqual([]);
    expect(lines).toEqual([expect.stringContaining('the certificate was not replaced')]);
    write(second);
    refused = true;
    await source.reload();
    expect([lines.length, source.current().key]).toEqual([2, first.key]);
    refused = false;
    await source.reload();
    expect([used.map(({ key }) => key), source.current().key]).toEqual([[second.key], second.key]);
    expect(lines.at(-1)).toContain('the certificate was replaced');
    await source.stop();
  });
});
