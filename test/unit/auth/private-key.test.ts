import { chmodSync, copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadPrivateKey } from '../../support/private-key.ts';
import { chooseAlgorithm } from '../../../src/auth/signer.ts';
import { KeyError } from '../../../src/base/errors.ts';
import {
  catchError,
  makeDsaKey,
  makeFolder,
  makeKey,
  run,
  runOpenssl,
  showFingerprint,
  verifyByLibrary,
  verifyByOpenssl,
  writePrivate,
} from './witness.ts';

const folder = makeFolder();
const text = 'date: Sat, 01 Feb 2025 10:11:12 GMT';
const passphrase = 'open sesame é';

/** The same key as a PEM file for openssl. */
function convertToPem(path: string): string {
  const pem = `${path}.pem`;
  copyFileSync(path, pem);
  run('ssh-keygen', ['-q', '-p', '-m', 'PEM', '-f', pem, '-P', '', '-N', '']);
  return pem;
}

/** Encrypted forms of a PEM key, as the various programs write them. */
function encrypt(pem: string): string[] {
  const openssh = `${pem}.openssh`;
  copyFileSync(pem, openssh);
  run('ssh-keygen', ['-q', '-p', '-a', '1', '-f', openssh, '-P', '', '-N', passphrase]);
  const traditional = writePrivate(folder, `${pem.slice(folder.length + 1)}.traditional`, '');
  runOpenssl('pkey', '-in', pem, '-traditional', '-aes128', '-passout', `pass:${passphrase}`, '-out', traditional);
  const pkcs8 = writePrivate(folder, `${pem.slice(folder.length + 1)}.pkcs8`, '');
  runOpenssl('pkcs8', '-in', pem, '-topk8', '-passout', `pass:${passphrase}`, '-out', pkcs8);
  return [openssh, traditional, pkcs8];
}

const keys = [
  { name: 'rsa', make: () => makeKey(folder, 'rsa', '-t', 'rsa', '-b', '2048') },
  { name: 'p256', make: () => makeKey(folder, 'p256', '-t', 'ecdsa', '-b', '256') },
  { name: 'p384', make: () => makeKey(folder, 'p384', '-t', 'ecdsa', '-b', '384') },
  { name: 'p521', make: () => makeKey(folder, 'p521', '-t', 'ecdsa', '-b', '521') },
  { name: 'dsa', make: () => makeDsaKey(folder, 'dsa') },
];

describe.each(keys)('a private key of type $name', ({ name, make }) => {
  const path = make();
  const pem = convertToPem(path);

  it('is read in every plain form and signs as openssl verifies', async () => {
    const openssh = join(folder, `${name}.plain`);
    copyFileSync(pem, openssh);
    run('ssh-keygen', ['-q', '-p', '-f', openssh, '-P', '', '-N', '']);
    const pkcs8 = writePrivate(folder, `${name}.plain8`, runOpenssl('pkcs8', '-in', pem, '-topk8', '-nocrypt'));
    const md5 = showFingerprint(pem, 'md5');
    for (const file of [path, openssh, pem, pkcs8]) {
      const signer = await loadPrivateKey(file);
      expect(signer.source).toBe(file);
      expect(signer.publicKey.fingerprints.md5).toBe(md5);
      const { hash } = chooseAlgorithm(signer);
      const signature = await signer.sign(text, hash);
      expect(verifyByLibrary(pem, hash, text, signature), file).toBe(true);
      if (file === path) expect(verifyByOpenssl(folder, pem, hash, text, signature)).toBe(true);
    }
  });

  it('is read with other text around it: a byte order mark, line ends of Windows, a certificate', async () => {
    const plain = readFileSync(pem, 'utf8');
    for (const [file, content] of Object.entries({
      bom: `\uFEFF${plain}`,
      windows: plain.replaceAll('\n', '\r\n'),
      certificate: `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${plain}`,
    })) {
      const signer = await loadPrivateKey(writePrivate(folder, `${name}.${file}`, content));
      expect(signer.publicKey.fingerprints.md5, file).toBe(showFingerprint(pem, 'md5'));
    }
    const [openssh = '', , pkcs8 = ''] = encrypt(pem);
    for (const file of [openssh, pkcs8]) {
      const marked = writePrivate(folder, `${name}.marked`, `\uFEFF${readFileSync(file, 'utf8')}`);
      const { publicKey } = await loadPrivateKey(marked, async () => passphrase);
      expect(publicKey.fingerprints.md5).toBe(showFingerprint(pem, 'md5'));
    }
  });

  it('asks for the passphrase of every encrypted form, and again after a wrong one', async () => {
    for (const file of encrypt(pem)) {
      const asked: [string, number][] = [];
      const signer = await loadPrivateKey(file, async (path, attempt) => {
        asked.push([path, attempt]);
        return attempt === 1 ? 'wrong' : passphrase;
      });
      expect(asked).toEqual([
        [file, 1],
        [file, 2],
      ]);
      const { hash } = chooseAlgorithm(signer);
      expect(verifyByLibrary(pem, hash, text, await signer.sign(text, hash)), file).toBe(true);
    }
  });
});

describe('private keys that cannot be used', () => {
  const path = makeKey(folder, 'locked', '-t', 'rsa', '-b', '2048');
  run('ssh-keygen', ['-q', '-p', '-a', '1', '-f', path, '-P', '', '-N', passphrase]);

  it('gives up after three wrong passphrases', async () => {
    let asked = 0;
    const error = await catchError(
      loadPrivateKey(path, async () => {
        asked += 1;
        return 'wrong';
      }),
    );
    expect(error).toBeInstanceOf(KeyError);
    expect(error.message).toBe(`${path}: wrong passphrase, 3 times`);
    expect(asked).toBe(3);
  });

  it('says that there is nobody to ask', async () => {
    const error = await catchError(loadPrivateKey(path));
    expect(error).toBeInstanceOf(KeyError);
    expect(error.hint).toBe(`add the key to the ssh-agent: ssh-add ${path}`);
  });

  it('refuses a file that others can read', async () => {
    const open = makeKey(folder, 'open', '-t', 'rsa', '-b', '2048');
    chmodSync(open, 0o644);
    const error = await catchError(loadPrivateKey(open));
    expect(error).toBeInstanceOf(KeyError);
    expect(error.hint).toBe(`chmod 600 ${open}`);
  });

  it('never asks for the passphrase of an Ed25519 key, which cannot sign', async () => {
    const ed25519 = makeKey(folder, 'ed25519', '-t', 'ed25519');
    run('ssh-keygen', ['-q', '-p', '-a', '1', '-f', ed25519, '-P', '', '-N', passphrase]);
    const signer = await loadPrivateKey(ed25519);
    expect(signer.publicKey.type).toBe('ed25519');
    expect((await catchError(signer.sign(text, 'sha512'))).message).toContain('Ed25519 keys cannot sign for these services');
  });

  it('does not ask for a passphrase that would not help: the file has an unsupported cipher', async () => {
    const file = makeKey(folder, 'gcm', '-t', 'rsa', '-b', '2048');
    run('ssh-keygen', ['-q', '-p', '-a', '1', '-Z', 'aes256-gcm@openssh.com', '-f', file, '-P', '', '-N', passphrase]);
    const error = await catchError(loadPrivateKey(file, () => Promise.reject(new Error('asked'))));
    expect(error.message).toBe(`${file}: the key is encrypted with aes256-gcm@openssh.com, which is not supported`);
    const hints = (error as KeyError).hints.join('\n');
    expect(hints).toContain(`ssh-keygen -p -Z aes256-ctr -f ${file}`);
    const [, again = ''] = /encrypt it again: ssh-keygen (.*)/.exec(hints) ?? [];
    run('ssh-keygen', ['-q', ...again.split(' '), '-P', passphrase, '-N', passphrase]);
    expect((await loadPrivateKey(file, async () => passphrase)).publicKey.type).toBe('rsa');
  });

  it('says what is wrong with a file', async () => {
    const cases: [string, string | RegExp][] = [
      [join(folder, 'missing'), `${join(folder, 'missing')}: no such file or directory`],
      [folder, /not a private key file/],
      [`${path}.pub`, /this is a public key/],
      [writePrivate(folder, 'empty', ''), /not a private key in OpenSSH, PEM or PKCS#8 format/],
      [
        writePrivate(folder, 'cut', readFileSync(path, 'utf8').replace(/[^\n]+\n-----END/, '-----END')),
        /cut: the file is damaged: the data ends too early/,
      ],
      [
        writePrivate(folder, 'torn', '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n'),
        `${join(folder, 'torn')}: the private key is damaged, or of an unsupported type`,
      ],
      [
        writePrivate(folder, 'half', readFileSync(path, 'utf8').replace(/-----END[^]*/, '')),
        `${join(folder, 'half')}: the file is damaged: the last line of the key is missing`,
      ],
    ];
    for (const [file, message] of cases) {
      const error = await catchError(loadPrivateKey(file));
      expect(error).toBeInstanceOf(KeyError);
      expect(error.message).toMatch(message);
    }
    expect((await catchError(loadPrivateKey(`${path}.pub`))).hint).toBe(`name the private key: --key-file ${path}`);
  });
});
