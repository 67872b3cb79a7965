import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readFingerprint } from '../../../src/auth/fingerprint.ts';
import { derivePublicKey, InvalidKeyError, isHardwareType, readPublicKey } from '../../../src/auth/public-key.ts';
import { UsageError } from '../../../src/base/errors.ts';
import { makeDsaKey, makeFolder, makeKey, run, runOpenssl, showFingerprint } from './witness.ts';

const folder = makeFolder();

const kinds = [
  { name: 'rsa', args: ['-t', 'rsa', '-b', '2048'], type: 'rsa', bits: 2048 },
  { name: 'rsa-odd', args: ['-t', 'rsa', '-b', '2047'], type: 'rsa', bits: 2047 },
  { name: 'p256', args: ['-t', 'ecdsa', '-b', '256'], type: 'ecdsa', bits: 256 },
  { name: 'p384', args: ['-t', 'ecdsa', '-b', '384'], type: 'ecdsa', bits: 384 },
  { name: 'p521', args: ['-t', 'ecdsa', '-b', '521'], type: 'ecdsa', bits: 521 },
  { name: 'ed25519', args: ['-t', 'ed25519'], type: 'ed25519', bits: 256 },
];

describe('reading public keys', () => {
  it.each(kinds)('reads $name as ssh-keygen writes it', async ({ name, args, type, bits }) => {
    const path = makeKey(folder, name, ...args);
    const text = readFileSync(`${path}.pub`, 'utf8');
    const key = readPublicKey(text);
    expect(key).toMatchObject({ type, bits, comment: `${name} of a test` });
    expect(key.fingerprints).toEqual({ md5: showFingerprint(path, 'md5'), sha256: showFingerprint(path, 'sha256') });
    expect(text.startsWith(`${key.openssh} `)).toBe(true);
    expect((await derivePublicKey(key.keyObject)).openssh).toBe(key.openssh);
  });

  it('reads a DSA key', async () => {
    const pem = makeDsaKey(folder, 'dsa');
    const text = run('ssh-keygen', ['-y', '-f', pem]).toString();
    const key = readPublicKey(text);
    expect(key).toMatchObject({ type: 'dsa', bits: 1024, comment: '' });
    expect(key.fingerprints.md5).toBe(showFingerprint(pem, 'md5'));
    expect(key.keyObject.export({ type: 'spki', format: 'pem' })).toBe(runOpenssl('dsa', '-in', pem, '-pubout').toString());
    expect((await derivePublicKey(key.keyObject)).openssh).toBe(key.openssh);
  });

  it('refuses what is not a key', () => {
    const rsa = readPublicKey(readFileSync(`${folder}/rsa.pub`, 'utf8')).openssh;
    const p256 = readPublicKey(readFileSync(`${folder}/p256.pub`, 'utf8')).openssh;
    const offCurve = Buffer.from(p256.split(' ')[1] ?? '', 'base64');
    offCurve[offCurve.length - 1] = (offCurve.at(-1) ?? 0) ^ 1;
    const longer = `ssh-rsa ${Buffer.concat([Buffer.from(rsa.split(' ')[1] ?? '', 'base64'), Buffer.of(0)]).toString('base64')}`;
    const bad = [
      '',
      'ssh-rsa',
      'hello world',
      rsa.slice(0, -8),
      rsa.replace('ssh-rsa', 'ssh-dss'),
      `${rsa} a\n${rsa} b`,
      longer,
      `ecdsa-sha2-nistp256 ${offCurve.toString('base64')}`,
      'sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIA==',
    ];
    for (const text of bad) expect(() => readPublicKey(text)).toThrow(InvalidKeyError);
    expect(() => readPublicKey(bad.at(-1) ?? '')).toThrow(/security key/);
    expect(isHardwareType('sk-ssh-ed25519@openssh.com')).toBe(true);
  });
});

describe('fingerprints as users write them', () => {
  const md5 = '0a:1b:2c:3d:4e:5f:60:71:82:93:a4:b5:c6:d7:e8:f9';
  const base64 = 'uNiVztksCsDhcc0u9e8BrrQXVUpKZIDTMczCvj3tD2s';

  it.each([
    [md5, md5],
    [`MD5:${md5.toUpperCase()}`, md5],
    [md5.replaceAll(':', ''), md5],
    [`SHA256:${base64}`, `SHA256:${base64}`],
    [` sha256:${base64}= `, `SHA256:${base64}`],
  ])('reads %s', (text, expected) => expect(readFingerprint(text)).toBe(expected));

  it.each(['', 'laptop', `${md5}:00`, base64, 'SHA256:short'])('refuses %j', (text) =>
    expect(() => readFingerprint(text)).toThrow(UsageError),
  );
});
