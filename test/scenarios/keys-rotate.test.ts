import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { killAtFault } from '../support/kill-at-fault.ts';
import { openTerminal } from '../support/terminal.ts';
import { useShared } from '../support/shared-service.ts';

interface Rotated {
  profile: string;
  fingerprint: string;
  keyFile: string;
  previous: string;
  removed: boolean;
  switched: string[];
}

interface Profile {
  name: string;
  account: string;
  url: string;
  storUrl: string;
  ca: string;
  keyId: string;
  keyFile?: string;
}

const user = useShared();
const read = (name: string): Promise<Profile> => user.json<Profile>('profile', 'get', name);
const registered = async (): Promise<string[]> =>
  (await user.json<{ fingerprint: string }[]>('keys', 'list')).map((key) => key.fingerprint);

/** A profile of a key of its own, registered with the account: `NAME.key`. */
async function makeProfile(name: string, ...words: string[]): Promise<Profile> {
  const file = join(user.home, `${name}.key`);
  execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-C', name, '-f', file]);
  await user.json('keys', 'create', `${file}.pub`, '--name', name);
  const { url, storUrl, account, ca } = await read('local');
  await user.json('profile', 'create', name, '--url', url, '--stor-url', storUrl, '--account', account, '--ca', ca, ...words);
  return await read(name);
}

const byFile = (name: string): string[] => ['--key-file', join(user.home, `${name}.key`), '--stor-ecdsa'];

/** Ends unless the profile signs for both services. */
async function expectSigned(profile: string): Promise<void> {
  await user.json('--profile', profile, 'account', 'get');
  await user.json('--profile', profile, 'stor', 'ls');
}

beforeEach(async () => {
  await user.here(['local', 'faults', 'clear', '-q']);
});

test('the profile signs with a new key, with the role tags of the old one, and the old one is refused', async () => {
  const old = await makeProfile('work', ...byFile('work'));
  const fingerprint =
    execFileSync('ssh-keygen', ['-l', '-E', 'md5', '-f', 'work.key'], { cwd: user.home }).toString().split(' ')[1]?.slice(4) ?? '';
  await user.json('roles', 'create', 'dev', '--wait');
  await user.json('roles', 'tags', 'set', 'keys/work', 'dev');
  const rotated = await user.json<Rotated>('--profile', 'work', 'keys', 'rotate', '--yes');
  expect(rotated).toMatchObject({ profile: 'work', previous: fingerprint, removed: true, switched: ['work'] });
  expect(dirname(rotated.keyFile)).toBe(user.home);
  expect(await read('work')).toEqual({ ...old, keyId: undefined, keyFile: rotated.keyFile });
  expect(statSync(rotated.keyFile).mode & 0o777).toBe(0o600);
  // OpenSSH reads both halves, and they are those of one key.
  const ownHalf = execFileSync('ssh-keygen', ['-y', '-f', rotated.keyFile]).toString().split(' ')[1];
  expect(readFileSync(`${rotated.keyFile}.pub`, 'utf8').split(' ')[1]?.trim()).toBe(ownHalf?.trim());
  expect(await registered()).toContain(rotated.fingerprint);
  expect(await registered()).not.toContain(fingerprint);
  await expectSigned('work');
  const refused = await user.here(['--profile', 'work', '--key-file', join(user.home, 'work.key'), 'account', 'get']);
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('(InvalidCredentials')]);
  const tagged = await user.json<{ 'role-tag': string[] }>('roles', 'tags', 'get', `keys/${rotated.fingerprint}`);
  expect(tagged['role-tag']).toEqual(['dev']);
});

test('without a yes both keys sign, and the line that removes the old one is said', async () => {
  const old = await makeProfile('kept', ...byFile('kept'));
  const { code, stdout, stderr } = await user.here(['--profile', 'kept', 'keys', 'rotate', '-j', '--name', 'kept-new']);
  const rotated = JSON.parse(stdout) as Rotated;
  expect([code, rotated.removed]).toEqual([0, false]);
  const [, line = ''] = /to remove it: cloud (.*?)"/.exec(stderr) ?? [];
  expect(line).toBe(`keys delete ${rotated.previous}`);
  await expectSigned('kept');
  await user.json('--profile', 'kept', '--key-file', old.keyFile ?? '', 'account', 'get');
  expect((await user.json<{ name: string }>('keys', 'get', rotated.fingerprint)).name).toBe('kept-new');
  expect((await user.here(['--profile', 'kept', ...line.split(' '), '-y'])).code).toBe(0);
  await expectSigned('kept');
});

test('profiles of the same account with the same key are switched too; those of another account are named and left', async () => {
  await makeProfile('many', ...byFile('many'));
  const { url, account, ca } = await read('local');
  await user.json('profile', 'create', 'many-too', '--url', `${url}/`, '--account', account, '--ca', ca, ...byFile('many'));
  const other = await user.json<Profile>(
    'profile',
    'create',
    'elsewhere',
    '--url',
    url,
    '--account',
    'stranger',
    '--no-test',
    ...byFile('many'),
  );
  const dry = await user.here(['--profile', 'many', 'keys', 'rotate', '--dry-run', '-j']);
  expect(JSON.parse(dry.stdout)).toMatchObject({ switched: ['many-too', 'many'], removed: false });
  expect(dry.stderr).toContain('cloud --profile elsewhere keys rotate');
  expect((await read('many')).keyFile).toBe(join(user.home, 'many.key'));
  const { code, stdout, stderr } = await user.here(['--profile', 'many', 'keys', 'rotate', '-y', '-j']);
  expect(code).toBe(0);
  const { keyFile, switched } = JSON.parse(stdout) as Rotated;
  expect(switched).toEqual(['many-too', 'many']);
  expect(stderr).toContain('profile elsewhere uses the same key for another account or service and keeps it');
  expect((await read('many-too')).keyFile).toBe(keyFile);
  expect(await read('elsewhere')).toEqual(other);
  await expectSigned('many');
  await user.json('--profile', 'many-too', 'account', 'get');
});

test('a profile that the new key does not serve keeps the old one, which is not removed', async () => {
  await makeProfile('pair', ...byFile('pair'));
  const { url, account, ca } = await read('local');
  const dead = ['--stor-url', 'http://127.0.0.1:1', '--retries', '0'];
  await user.json(
    'profile',
    'create',
    'pair-dead',
    '--url',
    url,
    '--account',
    account,
    '--ca',
    ca,
    '--no-test',
    ...dead,
    ...byFile('pair'),
  );
  const { code, stdout, stderr } = await user.here(['--profile', 'pair', 'keys', 'rotate', '-y', '-j']);
  const rotated = JSON.parse(stdout) as Rotated;
  expect([code, rotated.removed, rotated.switched]).toEqual([0, false, ['pair']]);
  expect(stderr).toContain('because it signs for pair-dead');
  expect((await read('pair-dead')).keyFile).toBe(join(user.home, 'pair.key'));
  await user.json('--profile', 'pair-dead', 'account', 'get');
});

test('a new key that the service refuses leaves nothing behind', async () => {
  const before = await makeProfile('refused', ...byFile('refused'));
  const files = readdirSync(user.home).toSorted();
  for (const fault of [
    ['createkey', 'InvalidArgument'],
    ['getaccount', 'ResourceNotFound'],
  ] as const) {
    await user.here(['local', 'faults', 'add', ...fault, '-q']);
    const { code } = await user.here(['--profile', 'refused', 'keys', 'rotate', '-y', '--type', 'ecdsa']);
    expect(code).not.toBe(0);
    await user.here(['local', 'faults', 'clear', '-q']);
    expect(await read('refused')).toEqual(before);
    await expectSigned('refused');
    expect(readdirSync(user.home).toSorted()).toEqual(files);
  }
});

test('what is not the key of the profile is not rotated', async () => {
  for (const words of [
    ['--key-id', '00:'.repeat(15) + '00'],
    ['--account', 'other'],
    ['--user', 'jill'],
  ]) {
    const { code, stderr } = await user.here([...words, 'keys', 'rotate', '-y']);
    expect([words, code, stderr]).toEqual([words, 2, expect.stringContaining('overrides profile local')]);
  }
});

test('killed at any request, the profile still signs, and the same command goes on with the same key', async () => {
  const moments = [
    ['before-registered', 'createkey', 'latency:600s'],
    ['after-registered', 'createkey', 'stall:0'],
    ['while-tried', 'getaccount', 'latency:600s'],
    ['before-removed', 'deletekey', '503'],
    // What is held goes on when the failure ends, though nobody waits for it.
    ['after-removed', 'deletekey', 'latency:600s'],
  ] as const;
  for (const [name, operation, failure] of moments) {
    await makeProfile(name, ...byFile(name));
    const before = await registered();
    await killAtFault(user, ['--profile', name, 'keys', 'rotate', '-y', '--type', 'ecdsa'], [operation, failure]);
    await expectSigned(name);
    const rotated = await user.json<Rotated>('--profile', name, 'keys', 'rotate', '-y');
    expect([name, rotated.removed]).toEqual([name, true]);
    await expectSigned(name);
    // Never two new keys: whatever the killed run registered is what signs now.
    const after = await registered();
    const added = after.filter((each) => !before.includes(each));
    expect([name, added, after.includes(rotated.previous)]).toEqual([name, [rotated.fingerprint], false]);
  }
});

test('a key with a passphrase gets one again, asked twice', async () => {
  const old = await makeProfile('locked', ...byFile('locked'));
  execFileSync('ssh-keygen', ['-q', '-p', '-a', '1', '-P', '', '-N', 'old secret', '-f', old.keyFile ?? '']);
  const silent = await user.here(['--profile', 'locked', 'keys', 'rotate']);
  expect([silent.code, silent.stderr]).toEqual([4, expect.stringContaining('locked.key')]);
  const terminal = openTerminal('cloud --profile locked keys rotate', { env: user.env, cwd: user.home });
  await terminal.until(/Passphrase of \S+: /);
  terminal.type('old secret\r');
  for (const question of [/passphrase of the new key: /, /repeat the passphrase: /, /Passphrase of \S+cloud-locked-\S+: /]) {
    await terminal.until(question);
    terminal.type('new secret\r');
  }
  await terminal.until(/Remove the old key locked .*\[y\/N\]/s);
  terminal.type('y\r');
  const { code, text } = await terminal.end();
  expect([code, text]).toEqual([0, expect.stringContaining('ssh-add')]);
  const { keyFile = '' } = await read('locked');
  execFileSync('ssh-keygen', ['-y', '-P', 'new secret', '-f', keyFile]);
  expect(() => execFileSync('ssh-keygen', ['-y', '-P', '', '-f', keyFile], { stdio: 'pipe' })).toThrow('incorrect passphrase');
});

test('a key of the agent becomes a file in ~/.ssh, with a passphrase unless none is wanted', async () => {
  await makeProfile('agent', ...byFile('agent'));
  const { stdout } = await user.shell(`eval "$(ssh-agent)" > /dev/null; echo $SSH_AUTH_SOCK $SSH_AGENT_PID
    ssh-add -q agent.key && mkdir -p away && mv agent.key agent.key.pub away
    ssh-keygen -l -E md5 -f away/agent.key.pub | cut -d ' ' -f 2`);
  const [SSH_AUTH_SOCK = '', pid = '', keyId = ''] = stdout.trim().split(/\s+/);
  try {
    const asAgent = (line: string) => user.here(line.split(' '), { env: { SSH_AUTH_SOCK, CLOUD_PROFILE: 'agent' } });
    expect((await asAgent(`profile edit agent --key-id ${keyId} --unset keyFile -q`)).code).toBe(0);
    expect(await asAgent('keys rotate --yes')).toMatchObject({ code: 2, stderr: expect.stringContaining('--no-encrypt') as string });
    const rotated = await asAgent('keys rotate --yes --no-encrypt -q -j');
    expect([rotated.code, JSON.parse(rotated.stdout)]).toEqual([0, expect.objectContaining({ removed: true })]);
    expect((await asAgent('account get -q -j')).code, 'the new key signs').toBe(0);
  } finally {
    process.kill(Number(pid));
  }
  const name = expect.stringMatching(/^cloud-agent-[\d-]+$/u) as string;
  expect(readdirSync(join(user.home, '.ssh')).toSorted()).toEqual([name, expect.stringMatching(/^cloud-agent-[\d-]+\.pub$/u)]);
  expect((await read('agent')).keyFile).toBeUndefined();
});
