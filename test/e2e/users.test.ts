import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useShared } from '../support/shared-service.ts';

interface User {
  id: string;
  login: string;
  email: string;
  firstName?: string;
  roles?: string[];
  default_roles?: string[];
}

const user = useShared('--http');
const password = 'open sesame 1';

/** A new key pair; its public file. */
function makeKey(name: string): string {
  return writeRsaKeyFile(join(user.home, name), { comment: name });
}

async function createUser(login: string): Promise<User> {
  const words = ['users', 'create', login, '--email', `${login}@example.com`, '--password-stdin', '--wait', '-j'];
  const created = await user.here(words, { input: `${password}\n` });
  expect(JSON.parse(created.stderr)).toEqual({ note: `Created user ${login}` });
  return JSON.parse(created.stdout) as User;
}

test('a user is created, found by login and by the beginning of its id, changed by login and deleted', async () => {
  const alice = await createUser('alice');
  for (const word of ['alice', alice.id, alice.id.slice(0, 8)]) expect((await user.json<User>('users', 'get', word)).id).toBe(alice.id);
  const changed = await user.json<User>('users', 'update', 'alice', '--first-name', 'Alice', '--login', 'alicia', '--wait');
  expect(changed).toMatchObject({ id: alice.id, login: 'alicia', firstName: 'Alice' });
  expect(await user.json('users', 'get', 'alicia', '--membership')).toMatchObject({ roles: [], default_roles: [] });
  const gone = await user.here(['users', 'rm', 'alicia', 'nobody', '-y', '--wait']);
  expect([gone.code, gone.stderr]).toEqual([
    5,
    expect.stringMatching(/user "nobody" does not exist\nhint: cloud users list\nDeleted user alicia\n.*1 of 2 failed\n/s),
  ]);
  expect(await user.json('users', 'list')).toEqual([]);
});

test('the account is updated from a file, such as the output of get; options take precedence', async () => {
  await user.json('account', 'update', '--phone', '0123', '--city', 'Ghent', '--cns');
  const before = await user.here(['account', 'get', '-o', 'yaml']);
  await user.json('account', 'update', '--phone', '', '--city', 'Lyon', '--no-cns');
  const file = user.write('account.yaml', before.stdout);
  const restored = await user.json('account', 'update', '--from', file, '--city', 'Bruges');
  expect(restored).toMatchObject({ phone: '0123', city: 'Bruges', cloud_cns_enabled: true });
  const refused = await user.here(['account', 'update', '--from', '-'], { input: 'phnoe: "1"' });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('hint: did you mean phone?')]);
});

test('passwords come from stdin or a file, are changed, and stand nowhere in the output', async () => {
  await createUser('bob');
  const file = user.write('password.txt', 'another one 2\n');
  const changed = await user.here(['users', 'password', 'bob', '--password-file', file, '-vv']);
  expect([changed.code, changed.stdout]).toEqual([0, '']);
  expect(changed.stderr).toContain('Changed the password of bob');
  expect(changed.stderr).not.toContain('another one 2');
  const asked = await user.here(['users', 'password', 'bob']);
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('hint: give it with --password-stdin or --password-file')]);
  const empty = await user.here(['users', 'password', 'bob', '--password-stdin'], { input: '\n' });
  expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining('stdin contains no password')]);
  const weak = await user.here(['users', 'password', 'bob', '--password-stdin'], { input: 'short' });
  expect(weak.code).toBe(1);
  expect(weak.stderr).toContain('(InvalidArgument, request');
  const given = await user.here(['users', 'create', 'x', '--password', password]);
  expect([given.code, given.stderr]).toEqual([2, expect.stringMatching(/^cloud users create x: unknown option --password\n/u)]);
  expect((await user.here(['users', 'password', 'bob', '--password-file', 'none'])).stderr).toMatch(
    /^cloud users password bob --password-file none: .*none: no such file/u,
  );
});

test('a record for --from: unknown fields are named with the nearest, and what get shows is taken back', async () => {
  const wrong = user.write('user.yaml', 'login: carol\nemial: carol@example.com\n');
  const refused = await user.here(['users', 'create', '--from', wrong, '--password-stdin'], { input: password });
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('emial: is not a known field\nhint: did you mean email?');
  await createUser('carol');
  const shown = await user.here(['users', 'get', 'carol', '-o', 'yaml']);
  const copy = user.write('copy.yaml', shown.stdout);
  const created = await user.here(['users', 'create', 'carol2', '--from', copy, '--password-stdin', '-j'], { input: password });
  expect(JSON.parse(created.stdout)).toMatchObject({ login: 'carol2', email: 'carol@example.com' });
});

test('a record for --from may hold the password; an option wins, and no change takes one', async () => {
  const record = user.write('fay.yaml', 'login: fay\nemail: fay@example.com\npassword: from-record-1\n');
  expect(await user.json('users', 'create', '--from', record, '--wait')).toMatchObject({ login: 'fay' });
  const piped = JSON.stringify({ login: 'gus', email: 'gus@example.com', password: 'from-record-1' });
  expect((await user.here(['users', 'create', '--from', '-', '--wait', '-q'], { input: piped })).code).toBe(0);
  const short = await user.here(['users', 'create', 'hal', '--from', record, '--password-stdin'], { input: 'short' });
  expect([short.code, short.stderr]).toEqual([1, expect.stringContaining('password')]);
  const changed = await user.here(['users', 'update', 'fay', '--from', record]);
  expect([changed.code, changed.stderr]).toEqual([2, expect.stringContaining('password: is not a known field')]);
  await user.json('users', 'delete', 'fay', 'gus', '-y');
});

test('keys of a user are registered, listed, shown and removed', async () => {
  await createUser('dave');
  const file = makeKey('dave');
  const created = await user.here(['users', 'keys', 'create', 'dave', file, '--name', 'laptop', '-o', 'name']);
  expect(created.stderr).toBe('Created key laptop\n');
  const fingerprint = created.stdout.trim();
  expect(await user.json('users', 'keys', 'get', 'dave', 'laptop')).toMatchObject({ fingerprint });
  const missing = await user.here(['users', 'keys', 'get', 'dave', 'desktop']);
  expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining('hint: cloud users keys list dave')]);
  expect((await user.here(['users', 'keys', 'rm', 'dave', fingerprint])).code).toBe(2);
  const other = await user.here(['users', 'keys', 'create', 'dave', '/etc/passwd', '-v']);
  expect([other.code, other.stderr]).toEqual([
    2,
    expect.stringMatching(/^cloud .*: \/etc\/passwd contains no public key in OpenSSH format; nothing was sent\nhint/u),
  ]);
  const endless = await user.here(['users', 'keys', 'create', 'dave', '/dev/zero']);
  expect([endless.code, endless.stderr]).toEqual([2, expect.stringContaining('/dev/zero: is larger than the limit of 16 MiB')]);
  const gone = await user.here(['users', 'keys', 'rm', 'dave', fingerprint, '--yes', '-o', 'csv']);
  expect([gone.stderr, gone.stdout]).toEqual(['Deleted key laptop\n', `id,label\r\n${fingerprint},laptop\r\n`]);
  expect(await user.json('users', 'keys', 'list', 'dave')).toEqual([]);
});
