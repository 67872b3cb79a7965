import { chmodSync, copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findSigner } from '../../../src/auth/find.ts';
import { listLocalKeys } from '../../../src/auth/local-keys.ts';
import { assertUsable } from '../../../src/auth/signer.ts';
import { KeyError, UsageError } from '../../../src/base/errors.ts';
import { catchError, makeDsaKey, makeFolder, makeKey, run, showFingerprint, startAgent, writePrivate } from './witness.ts';

const root = makeFolder();
const { socket, add } = await startAgent(root);
const withoutKeys = await startAgent(makeFolder());

function makeSshDir(name: string): string {
  const path = join(root, name);
  mkdirSync(path);
  return path;
}

/** An `~/.ssh` as people have them, with all that is no key in it. */
function fillSshDir(): string {
  const folder = makeSshDir('usual');
  makeKey(folder, 'id_rsa', '-t', 'rsa', '-b', '2048');
  makeKey(folder, 'id_ecdsa', '-t', 'ecdsa');
  makeKey(folder, 'id_ed25519', '-t', 'ed25519');
  makeKey(folder, 'work', '-t', 'rsa', '-b', '2048', '-m', 'PEM');
  makeKey(folder, 'secret', '-t', 'rsa', '-b', '2048');
  run('ssh-keygen', ['-q', '-p', '-a', '1', '-f', join(folder, 'secret'), '-P', '', '-N', 'sesame']);
  makeKey(folder, 'bare', '-t', 'rsa', '-b', '2048');
  rmSync(join(folder, 'bare.pub'));
  makeDsaKey(folder, 'old_dsa');
  makeKey(folder, 'shared', '-t', 'rsa', '-b', '2048');
  chmodSync(join(folder, 'shared'), 0o640);
  makeKey(folder, 'away', '-t', 'rsa', '-b', '2048');
  renameSync(join(folder, 'away'), join(root, 'away'));
  writeFileSync(join(folder, 'config'), 'Host *\n');
  writeFileSync(join(folder, 'known_hosts'), 'x'.repeat(100_000));
  writePrivate(folder, 'broken', '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n');
  writeFileSync(join(folder, 'broken.pub'), 'ssh-rsa AAAA broken');
  mkdirSync(join(folder, 'folder.pub'));
  symlinkSync('nowhere', join(folder, 'dangling'));
  writeFileSync(join(folder, 'sk.pub'), hardwareKey);
  writePrivate(folder, 'sk', 'a key handle');
  return folder;
}

const field = (text: string | Buffer): Buffer => Buffer.concat([Buffer.of(0, 0, 0, text.length), Buffer.from(text)]);
const hardwareBlob = Buffer.concat(['sk-ssh-ed25519@openssh.com', Buffer.alloc(32, 7), 'ssh:'].map(field));
const hardwareKey = `sk-ssh-ed25519@openssh.com ${hardwareBlob.toString('base64')} yubikey\n`;
const sshDir = fillSshDir();
const locate = (name: string): string => join(sshDir, name);
const md5Of = (name: string): string => showFingerprint(locate(name), 'md5');
const inAgent = makeKey(root, 'in_agent', '-t', 'rsa', '-b', '2048');
add(inAgent);

describe('finding a key by fingerprint', () => {
  it.each(['id_rsa', 'id_ecdsa', 'work', 'bare', 'old_dsa'])('finds %s in the directory, by either fingerprint', async (name) => {
    for (const keyId of [md5Of(name), `MD5:${md5Of(name)}`, showFingerprint(locate(name), 'sha256')]) {
      expect((await findSigner({ keyId, sshDir })).source).toBe(locate(name));
    }
  });

  it('prefers the ssh-agent', async () => {
    copyFileSync(inAgent, locate('copy'));
    const signer = await findSigner({ keyId: showFingerprint(inAgent, 'md5'), agentSocket: socket, sshDir });
    expect(signer).toMatchObject({ source: 'ssh-agent', publicKey: { comment: 'in_agent of a test' } });
  });

  it('goes on without an agent that does not answer', async () => {
    expect((await findSigner({ keyId: md5Of('work'), agentSocket: join(root, 'no-agent'), sshDir })).source).toBe(locate('work'));
  });

  it('asks for the passphrase of the one that matches, and of no other', async () => {
    const asked: string[] = [];
    const askPassphrase = async (path: string): Promise<string> => {
      asked.push(path);
      return 'sesame';
    };
    await findSigner({ keyId: md5Of('id_rsa'), sshDir, askPassphrase });
    expect(asked).toEqual([]);
    expect((await findSigner({ keyId: md5Of('secret'), sshDir, askPassphrase })).source).toBe(locate('secret'));
    expect(asked).toEqual([locate('secret')]);
  });

  it('names the fingerprint and the places when there is none', async () => {
    const keyId = '00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff';
    const error = await catchError(findSigner({ keyId, agentSocket: join(root, 'no-agent'), sshDir }));
    expect(error).toBeInstanceOf(KeyError);
    expect(error.message).toContain(`no private key with the fingerprint ${keyId} in the ssh-agent or in ${sshDir}`);
    expect(error.message).toContain('nothing listens on');
    expect(error.hint).toContain('cloud keys local');
  });

  it('says that an agent without keys may be locked', async () => {
    const search = { agentSocket: withoutKeys.socket, sshDir: join(root, 'nowhere') };
    for (const wanted of [{ keyId: md5Of('work') }, {}])
      expect((await catchError(findSigner({ ...search, ...wanted }))).message).toContain('the ssh-agent has no keys; it may be locked');
  });

  it('says what is wrong with the one that matches', async () => {
    expect((await catchError(findSigner({ keyId: md5Of('shared'), sshDir }))).hint).toBe(`chmod 600 ${locate('shared')}`);
    const away = showFingerprint(join(root, 'away'), 'md5');
    expect((await catchError(findSigner({ keyId: away, sshDir }))).message).toContain(`the private key ${locate('away')} is missing`);
    const hardware = showFingerprint(locate('sk.pub'), 'sha256');
    expect((await catchError(findSigner({ keyId: hardware, sshDir }))).message).toContain('cannot sign for these services');
    await expect(findSigner({ keyId: 'laptop', sshDir })).rejects.toBeInstanceOf(UsageError);
  });
});

describe('finding a key by file, and the default key', () => {
  it('takes the named file when its fingerprint is the wanted one', async () => {
    expect((await findSigner({ keyFile: locate('work'), agentSocket: socket, sshDir })).source).toBe(locate('work'));
    expect((await findSigner({ keyFile: locate('work'), keyId: md5Of('work'), sshDir })).source).toBe(locate('work'));
    const error = await catchError(findSigner({ keyFile: locate('work'), keyId: md5Of('id_rsa'), sshDir }));
    expect(error).toBeInstanceOf(KeyError);
    expect(error.message).toBe(`${locate('work')}: this key has the fingerprint ${md5Of('work')}, not ${md5Of('id_rsa')}`);
  });

  it('spares the passphrase when the agent holds the same key', async () => {
    const encrypted = join(root, 'encrypted');
    copyFileSync(inAgent, encrypted);
    run('ssh-keygen', ['-q', '-p', '-a', '1', '-f', encrypted, '-P', '', '-N', 'sesame']);
    expect((await findSigner({ keyFile: encrypted, agentSocket: socket, sshDir })).source).toBe('ssh-agent');
  });

  it('takes the first default key that can be read', async () => {
    expect((await findSigner({ sshDir, agentSocket: socket })).source).toBe(locate('id_rsa'));
    const folder = makeSshDir('second');
    writePrivate(folder, 'id_rsa', 'damaged');
    makeKey(folder, 'id_ecdsa', '-t', 'ecdsa');
    expect((await findSigner({ sshDir: folder })).source).toBe(join(folder, 'id_ecdsa'));
  });

  it('takes the only key of the agent when there is no file', async () => {
    const folder = makeSshDir('empty');
    expect((await findSigner({ sshDir: folder, agentSocket: socket })).publicKey.comment).toBe('in_agent of a test');
    const error = await catchError(findSigner({ sshDir: join(root, 'absent') }));
    expect(error.message).toBe(`no private key: none of id_rsa, id_ecdsa, id_dsa in ${join(root, 'absent')}; there is no ssh-agent`);
    expect(error.hint).toMatch(/^create one: ssh-keygen/);
  });
});

describe('which services a key serves', () => {
  const check = async (name: string, ...rest: [service: 'compute' | 'storage', options?: { ecdsa: boolean }]) =>
    assertUsable(await findSigner({ keyFile: locate(name), sshDir }), ...rest);

  it('lets the right types pass', async () => {
    await check('id_rsa', 'compute');
    await check('id_rsa', 'storage');
    await check('id_ecdsa', 'compute');
    await check('id_ecdsa', 'storage', { ecdsa: true });
    await check('old_dsa', 'storage');
  });

  it('names the types that serve', async () => {
    expect((await catchError(check('id_ecdsa', 'storage'))).message).toContain('the storage service accepts RSA and DSA keys, not ECDSA');
    expect((await catchError(check('old_dsa', 'compute'))).message).toContain('the compute service accepts RSA and ECDSA keys, not DSA');
    expect((await catchError(check('id_ed25519', 'compute'))).message).toContain('Ed25519 keys cannot sign');
  });
});

describe('listing the keys at hand', () => {
  it('shows agent and files with their fingerprints, encryption and use', async () => {
    const keys = await listLocalKeys({ agentSocket: socket, sshDir });
    const byName = new Map(keys.map((key) => [key.source === 'ssh-agent' ? key.source : key.source.slice(sshDir.length + 1), key]));
    expect([...byName.keys()].toSorted()).toEqual(
      ['bare', 'copy', 'id_ecdsa', 'id_ed25519', 'id_rsa', 'old_dsa', 'secret', 'shared', 'sk', 'ssh-agent', 'work'].toSorted(),
    );
    expect(byName.get('id_rsa')).toEqual({
      type: 'rsa',
      bits: 2048,
      md5: md5Of('id_rsa'),
      sha256: showFingerprint(locate('id_rsa'), 'sha256'),
      source: locate('id_rsa'),
      encrypted: false,
      comment: 'id_rsa of a test',
      usableFor: ['compute', 'storage'],
    });
    expect(byName.get('secret')).toMatchObject({ encrypted: true, usableFor: ['compute', 'storage'] });
    expect(byName.get('id_ecdsa')).toMatchObject({ type: 'ecdsa', bits: 256, usableFor: ['compute'] });
    expect(byName.get('old_dsa')).toMatchObject({ type: 'dsa', usableFor: ['storage'] });
    expect(byName.get('id_ed25519')).toMatchObject({ type: 'ed25519', usableFor: [] });
    expect(byName.get('sk')).toMatchObject({ type: 'ed25519-sk', bits: 256, usableFor: [] });
    expect(byName.get('shared')?.problem).toContain('chmod 600');
  });

  it('is empty where there is nothing', async () => {
    expect(await listLocalKeys({ sshDir: join(root, 'absent'), agentSocket: join(root, 'no-agent') })).toEqual([]);
  });
});
