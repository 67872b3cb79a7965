import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useShared } from '../support/shared-service.ts';

interface Key {
  name: string;
  fingerprint: string;
  key: string;
}

const user = useShared('--http');

/** A new key pair; its public file. */
function makeKey(name: string): string {
  return writeRsaKeyFile(join(user.home, name), { comment: name });
}

function fingerprintOf(file: string, hash: 'md5' | 'sha256'): string {
  const line = execFileSync('ssh-keygen', ['-l', '-E', hash, '-f', file]).toString();
  return (line.split(' ')[1] ?? '').replace(/^MD5:/, '');
}

test('a key is created, shown by name and both fingerprints, and deleted', async () => {
  const file = makeKey('laptop');
  const created = await user.here(['keys', 'create', file, '--name', 'laptop', '-j']);
  expect(created.code).toBe(0);
  expect(JSON.parse(created.stderr)).toEqual({ note: 'Created key laptop' });
  const md5 = fingerprintOf(file, 'md5');
  expect(JSON.parse(created.stdout)).toMatchObject({ name: 'laptop', fingerprint: md5 });
  for (const word of ['laptop', md5, `MD5:${md5}`, fingerprintOf(file, 'sha256')]) {
    expect((await user.json<Key>('keys', 'get', word)).fingerprint).toBe(md5);
  }
  const gone = await user.here(['keys', 'delete', 'laptop', '--yes']);
  expect([gone.code, gone.stderr]).toEqual([0, 'Deleted key laptop\n']);
  const missing = await user.here(['keys', 'get', 'laptop']);
  expect([missing.code, missing.stdout]).toEqual([3, '']);
  expect(missing.stderr).toBe('cloud keys get laptop: key "laptop" does not exist\nhint: cloud keys list\n');
});

test('a private key is refused before anything is sent', async () => {
  const file = makeKey('secret').replace(/\.pub$/, '');
  const { code, stdout, stderr } = await user.here(['keys', 'create', file]);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('contains a private key, which was not sent');
  expect(stderr).not.toContain(readFileSync(file, 'utf8').split('\n')[1]);
});

test('without a file, the key that comes on stdin is created, and ~/.ssh/id_rsa.pub only where nothing comes', async () => {
  const piped = makeKey('piped');
  const md5 = fingerprintOf(piped, 'md5');
  const create = async (line: string): Promise<unknown> => {
    const { code, stdout, stderr } = await user.shell(line);
    return code === 0 ? (JSON.parse(stdout) as Key).fingerprint : [code, stderr];
  };
  expect(await create('cloud keys create --name redirected -q -j < piped.pub')).toBe(md5);
  await user.json('keys', 'delete', 'redirected', '-y');
  expect(await create('cat piped.pub | cloud keys create --name redirected -q -j')).toBe(md5);
  // Nothing usual is registered in place of what came.
  for (const [input, reason] of [
    ['nonsense', 'stdin contains no public key'],
    [`ssh-ed25519 ${'A'.repeat(68)} a\n${readFileSync(piped, 'utf8')}`, 'stdin contains 2 lines, but a public key is one'],
    [readFileSync(piped.replace(/\.pub$/, ''), 'utf8'), 'stdin contains a private key, which was not sent'],
  ] as const) {
    const refused = await user.here(['keys', 'create', '--name', 'never'], { input });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(reason)]);
  }
  await user.shell('mkdir -p .ssh');
  const own = writeRsaKeyFile(join(user.home, '.ssh/id_rsa'));
  expect(await create('cloud keys create --name usual -q -j < /dev/null')).toBe(fingerprintOf(own, 'md5'));
  await user.json('keys', 'delete', 'usual', '-y');
  expect(await create('cloud keys create --name usual -q -j <&-')).toBe(fingerprintOf(own, 'md5'));
  await user.shell('rm -r .ssh');
});

test('two keys of one name: both fingerprints are named, and neither is deleted', async () => {
  const files = [makeKey('twin-a'), makeKey('twin-b')];
  for (const file of files) expect((await user.here(['keys', 'create', file, '--name', 'twin'])).code).toBe(0);
  const { code, stderr } = await user.here(['keys', 'delete', 'twin', '-y']);
  expect(code).toBe(2);
  for (const file of files) expect(stderr).toContain(fingerprintOf(file, 'md5'));
  expect((await user.json<Key[]>('keys', 'list')).filter(({ name }) => name === 'twin')).toHaveLength(2);
});

test('of several keys the others are deleted when one does not exist: exit code 5', async () => {
  const file = makeKey('one-of-two');
  await user.here(['keys', 'create', file, '--name', 'one-of-two']);
  const { code, stderr } = await user.here(['keys', 'delete', 'one-of-two', 'nonsense', '-y']);
  expect(code).toBe(5);
  expect(stderr).toContain('key "nonsense" does not exist');
  expect(stderr).toContain('Deleted key one-of-two');
});

test('without a terminal nothing is deleted unless --yes says so', async () => {
  const { code, stderr } = await user.here(['keys', 'delete', (await user.json<Key[]>('keys', 'list'))[0]?.name ?? '']);
  expect(code).toBe(2);
  expect(stderr).toContain('--yes');
});

test('whoever is about to delete the key that signs is told so, however the profile names it', async () => {
  const { keyId, keyFile } = await user.json<{ keyId: string; keyFile: string }>('profile', 'get');
  const key = (await user.json<(Key & { key: string })[]>('keys', 'list')).find(({ fingerprint }) => fingerprint === keyId);
  const sha256 = fingerprintOf(user.write('own.pub', key?.key ?? ''), 'sha256');
  for (const word of [keyId, `MD5:${keyId.replaceAll(':', '').toUpperCase()}`, sha256]) {
    const { stderr } = await user.here(['keys', 'delete', key?.name ?? '', '--dry-run', '--key-file', keyFile, '--key-id', word]);
    expect([word, stderr]).toEqual([word, expect.stringContaining('you would lock yourself out')]);
  }
});

test('keys local tells which keys serve and which are registered', async () => {
  execFileSync('mkdir', ['-p', join(user.home, '.ssh')]);
  const file = makeKey('.ssh/id_rsa');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(user.home, '.ssh/id_ed25519')]);
  const before = await user.json<{ type: string; md5: string; registered: boolean; inUse: boolean; usableFor: string[] }[]>(
    'keys',
    'local',
  );
  expect(before.find(({ md5 }) => md5 === fingerprintOf(file, 'md5'))).toMatchObject({ type: 'rsa', registered: false });
  expect(before.find(({ type }) => type === 'ed25519')?.usableFor).toEqual([]);
  // The key of the profile lies elsewhere, and is the one that signs.
  const { keyFile } = user.local;
  expect(before).toContainEqual(expect.objectContaining({ source: keyFile, inUse: true, registered: true }));
  expect(before.filter(({ inUse }) => inUse)).toHaveLength(1);
  for (const kind of ['md5', 'sha256'] as const) {
    const word = fingerprintOf(file, kind).replaceAll(':', kind === 'md5' ? '' : ':');
    const { stdout } = await user.here(['keys', 'local', '-j', '--key-id', word]);
    expect([word, (JSON.parse(stdout) as typeof before).find(({ type }) => type === 'rsa')?.inUse]).toEqual([word, true]);
  }
  const unknown = await user.here(['keys', 'local', '-j', '--key-file', file.replace(/\.pub$/, '')]);
  expect([unknown.code, unknown.stderr]).toEqual([0, expect.stringContaining('the registered keys are unknown')]);
  await user.here(['keys', 'create']);
  const after = await user.json<{ md5: string; registered: boolean }[]>('keys', 'local');
  expect(after.find(({ md5 }) => md5 === fingerprintOf(file, 'md5'))?.registered).toBe(true);
});

test('an edit of a profile that names one key beside another is refused, and the hint replaces the key', async () => {
  const [first, second] = ['pair-1', 'pair-2'].map((name) => ({ file: join(user.home, name), id: fingerprintOf(makeKey(name), 'sha256') }));
  const edit = (...words: string[]) => user.here(['profile', 'edit', 'pair', ...words]);
  const words = ['--url', 'https://localhost:1', '--account', 'demo', '--key-file', first?.file ?? '', '--no-test'];
  expect((await user.here(['profile', 'create', 'pair', ...words])).code).toBe(0);
  expect((await edit('--key-id', first?.id ?? '')).code).toBe(0);
  const { code, stderr } = await edit('--key-file', second?.file ?? '');
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining(`--key-file: the profile also has the key-id ${first?.id}, which is another key`),
  ]);
  expect((await edit('--unset', 'keyId')).code).toBe(0);
  const again = await edit('--key-id', second?.id ?? '');
  expect(again.stderr).toContain(`--key-id: the profile also has the key-file ${first?.file}, which is another key`);
  const [, hint = ''] = /hint: cloud profile edit pair (.*)\n/.exec(again.stderr) ?? [];
  expect((await edit(...hint.split(' '))).code).toBe(0);
  const profile = await user.json<Record<string, unknown>>('profile', 'get', 'pair');
  expect([profile['keyId'], profile['keyFile']]).toEqual([second?.id, undefined]);
});

test('keys local says why keys are missing: an agent that does not respond, files that need a passphrase or are damaged', async () => {
  const folder = join(user.home, '.ssh');
  execFileSync('mkdir', ['-p', folder]);
  const [locked, torn] = [join(folder, 'locked.pem'), join(folder, 'torn.pem')];
  execFileSync('openssl', ['genrsa', '-aes128', '-passout', 'pass:sesame', '-out', locked, '2048'], { stdio: 'ignore' });
  writeFileSync(torn, '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n', { mode: 0o600 });
  try {
    const list = (...words: string[]) => user.here(['keys', 'local', ...words], { env: { SSH_AUTH_SOCK: join(user.home, 'gone') } });
    const { code, stderr } = await list();
    expect([code, stderr.trim().split('\n').toSorted()]).toEqual([
      0,
      [
        `${locked} is encrypted and has no .pub file, so it can only be used with --key-file`,
        `${torn}: the private key is damaged, or of an unsupported type`,
        `the ssh-agent cannot be reached: nothing listens on ${join(user.home, 'gone')}`,
      ].toSorted(),
    ]);
    // Once, although the settings name the file too.
    expect((await list('--key-file', locked)).stderr.match(/has no .pub file/gu)).toHaveLength(1);
  } finally {
    for (const file of [locked, torn]) rmSync(file);
  }
});

test('a key is found by the beginning of its MD5 fingerprint, with or without colons', async () => {
  const [{ fingerprint } = { fingerprint: '' }] = await user.json<{ fingerprint: string }[]>('keys', 'list');
  for (const word of [
    fingerprint.slice(0, 14),
    fingerprint.replaceAll(':', ''),
    fingerprint.replaceAll(':', '').slice(0, 10).toUpperCase(),
  ])
    expect(await user.json('keys', 'get', word)).toMatchObject({ fingerprint });
  expect((await user.here(['keys', 'get', 'abc'])).code).toBe(3);
});
