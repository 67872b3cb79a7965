import { beforeAll, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

interface Role {
  id: string;
  name: string;
  members: { type: string; id?: string; login: string; default: boolean }[];
  default_members: string[];
  policies: { name: string }[];
}

const user = useShared('--http');

function pick({ name, members, policies }: Role): object {
  return {
    name,
    members: Object.fromEntries(members.map((member) => [member.login, member.default])),
    policies: policies.map((policy) => policy.name),
  };
}

beforeAll(async () => {
  const input = 'open sesame 1';
  for (const login of ['alice', 'bob']) {
    const words = ['users', 'create', login, '--email', `${login}@example.com`, '--password-stdin', '--wait'];
    await user.here(words, { input });
  }
  for (const name of ['read-keys', 'read-users'])
    await user.json('policies', 'create', name, '--rule', `CAN list${name.slice(5)}`, '--wait');
});

test('members and policies are added and removed one by one; the others stay', async () => {
  const created = await user.json<Role>('roles', 'create', 'dev', '--default-member', 'alice', '--policy', 'read-keys', '--wait');
  expect(pick(created)).toEqual({ name: 'dev', members: { alice: true }, policies: ['read-keys'] });
  const bob = (await user.json<{ id: string }>('users', 'get', 'bob')).id;
  const added = await user.json<Role>('roles', 'update', 'dev', '--add-member', bob.slice(0, 8), '--add-policy', 'read-users', '--wait');
  expect(pick(added)).toEqual({ name: 'dev', members: { alice: true, bob: false }, policies: ['read-keys', 'read-users'] });
  const stays = await user.here(['roles', 'update', 'dev', '--add-member', 'Alice', '--wait', '-j']);
  expect(pick(JSON.parse(stays.stdout) as Role)).toMatchObject({ members: { alice: true, bob: false } });
  expect(stays.stderr).toContain('alice stays a default member; for one who must request the role, add: --remove-member alice');
  const moved = await user.json<Role>(
    'roles',
    'update',
    'dev',
    '--add-default-member',
    'bob',
    '--add-member',
    'alice',
    '--remove-member',
    'alice',
    '--name',
    'developers',
    '--wait',
  );
  expect(pick(moved)).toMatchObject({ name: 'developers', members: { alice: false, bob: true } });
  const removed = await user.json<Role>(
    'roles',
    'update',
    'developers',
    '--remove-member',
    'ALICE',
    '--remove-policy',
    'read-keys',
    '--wait',
  );
  expect(pick(removed)).toEqual({ name: 'developers', members: { bob: true }, policies: ['read-users'] });
  const again = await user.here(['roles', 'update', 'developers', '--remove-member', 'alice']);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('alice is not a member of role developers')]);
  expect((await user.here(['roles', 'delete', 'developers', '-y'])).stderr).toBe('Deleted role developers\n');
});

test('policies are named by name, id or the beginning of an id; options are about the list of the file, where there is one', async () => {
  const [keys, users] = await user.json<{ id: string; name: string }[]>('policies', 'list');
  const begin = (policy: { id: string } | undefined): string => policy?.id.slice(0, 8) ?? '';
  const created = await user.json<Role>('roles', 'create', 'filed', '--policy', begin(keys), '--policy', 'read-users', '--wait');
  expect(pick(created)).toMatchObject({ policies: ['read-keys', 'read-users'] });
  const change = (policies: object[], ...words: string[]) =>
    user.json<Role>('roles', 'update', 'filed', '--from', user.write('filed.json', JSON.stringify({ policies })), ...words, '--wait');
  // It is not in the file: that the role has it before does not count.
  const added = await change([{ name: 'read-keys' }], '--add-policy', 'read-users');
  expect(pick(added)).toMatchObject({ policies: ['read-keys', 'read-users'] });
  const removed = await change([{ name: 'read-keys' }, { id: users?.id }], '--remove-policy', 'read-keys');
  expect(pick(removed)).toMatchObject({ policies: ['read-users'] });
  const swapped = await user.json<Role>('roles', 'update', 'filed', '--remove-policy', begin(users), '--add-policy', begin(keys), '--wait');
  expect(pick(swapped)).toMatchObject({ policies: ['read-keys'] });
});

test.each([
  ['one was added', ['alice'], ['alice', 'bob'], 'bob'],
  ['one was removed', ['alice'], [], 'alice'],
  ['there are no members', undefined, ['bob'], 'bob'],
])('a file whose default_members differ from its members is refused: %s', async (_name, active, shown, differing) => {
  const members = active?.map((login) => ({ type: 'subuser', login, default: true }));
  const file = user.write('two-lists.json', JSON.stringify({ id: '', name: 'two-lists', members, default_members: shown, policies: [] }));
  const { code, stderr } = await user.here(['roles', 'create', '--from', file]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`members and default_members differ: ${differing}\n`)]);
});

test('the output of get is a file for create', async () => {
  await user.json('roles', 'create', 'model', '--default-member', 'alice', '--member', 'bob', '--wait');
  const file = user.write('model.json', (await user.here(['roles', 'get', 'model', '-j'])).stdout);
  const copied = await user.json<Role>('roles', 'create', 'copied', '--from', file, '--wait');
  expect(pick(copied)).toMatchObject({ members: { alice: true, bob: false } });
});

test('the form of version 8 is read and written', async () => {
  const old = ['--api-version', '~8'];
  const created = await user.json<Role>('roles', 'create', 'old', '--default-member', 'alice', '--member', 'bob', '--wait', ...old);
  expect(pick(created)).toMatchObject({ members: { alice: true, bob: false } });
  await user.json('roles', 'update', 'old', '--remove-member', 'alice', '--add-member', 'alice', '--wait', ...old);
  expect(pick(await user.json<Role>('roles', 'get', 'old'))).toMatchObject({ members: { alice: false, bob: false } });
  const { id } = await user.json<{ id: string }>('policies', 'get', 'read-users');
  const bob = await user.json<{ id: string }>('users', 'get', 'bob');
  const file = user.write('old.json', JSON.stringify({ members: [{ id: bob.id, default: true }], policies: [{ id }] }));
  const filed = await user.json<Role>('roles', 'update', 'old', '--from', file, '--wait', ...old);
  expect(pick(filed)).toMatchObject({ members: { bob: true }, policies: ['read-users'] });
  const account = await user.here(['roles', 'update', 'old', '--add-member', 'account:demo', ...old]);
  expect([account.code, account.stderr]).toEqual([2, expect.stringContaining('version 8 of the API has no members that are accounts')]);
});

test('edit opens the role as YAML, opens it again with the refusal, and keeps what is refused twice', async () => {
  await user.json('roles', 'create', 'edited', '--default-member', 'alice', '--wait');
  const edit = (editor: string) => user.cloud(['roles', 'edit', 'edited', '--wait'], { env: { EDITOR: editor } });
  expect((await edit('true')).stderr).toBe('Nothing was changed\n');
  expect(await edit('')).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('hint: set EDITOR') as string });
  expect((await edit('sed -i s/alice/bob/')).stderr).toBe('Updated role edited\n');
  expect(pick(await user.json<Role>('roles', 'get', 'edited'))).toMatchObject({ members: { bob: true } });
  const script = user.write(
    'editor.sh',
    `grep -q 'nobody' "$1" && { cp "$1" seen.yaml; sed -i s/nobody/alice/ "$1"; } || sed -i s/bob/nobody/ "$1"\n`,
  );
  const mended = await user.cloud(['roles', 'edit', 'edited', '--wait'], { env: { EDITOR: `sh ${script}` } });
  expect(mended.stderr).toBe('Updated role edited\n');
  const seen = await user.shell('cat ~/seen.yaml');
  expect(seen.stdout).toMatch(/^# ! .*nobody/);
  expect(seen.stdout).toContain('default_members:\n  - nobody\n');
  const kept = await edit('sed -i s/alice/nobody/');
  expect(kept.code).toBe(1);
  const file = /your text is saved in (\S+)/.exec(kept.stderr)?.[1] ?? '';
  expect((await user.shell(`cat ${file}`)).stdout).toContain('- nobody');
  expect(pick(await user.json<Role>('roles', 'get', 'edited'))).toMatchObject({ members: { alice: true } });
});

test('somebody else’s change in the meantime is not overwritten', async () => {
  await user.json('roles', 'create', 'shared', '--member', 'alice', '--wait');
  const script = user.write('race.sh', `cloud roles update shared --add-policy read-keys --wait -q >/dev/null\nsed -i s/alice/bob/ "$1"\n`);
  const { code, stderr } = await user.shell(`EDITOR="sh ${script}" cloud roles edit shared`);
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('role shared was changed by somebody else in the meantime: nothing was done'),
  ]);
  expect(pick(await user.json<Role>('roles', 'get', 'shared'))).toEqual({
    name: 'shared',
    members: { alice: false },
    policies: ['read-keys'],
  });
});

test('role tags are set, added, removed and shown; a path that is no resource is refused with the nearest', async () => {
  for (const name of ['red', 'green']) await user.json('roles', 'create', name, '--wait');
  expect(await user.json('roles', 'tags', 'set', 'keys', 'red')).toEqual({ name: '/demo/keys', 'role-tag': ['red'] });
  expect(await user.json('roles', 'tags', 'add', '/my/keys', 'green', 'red')).toMatchObject({ 'role-tag': ['red', 'green'] });
  expect(await user.json('roles', 'tags', 'get', '/demo/keys')).toMatchObject({ 'role-tag': ['red', 'green'] });
  expect(await user.json('roles', 'tags', 'remove', 'keys', 'red')).toMatchObject({ 'role-tag': ['green'] });
  const image = await user.json<{ name: string }>('roles', 'tags', 'set', 'images/debian-12@20250401', 'red');
  expect(image.name).toMatch(/^\/demo\/images\/[\da-f-]{36}$/);
  expect(await user.json('roles', 'tags', 'get', 'policies/read-keys')).toMatchObject({ 'role-tag': [] });
  for (const [path, words] of [
    ['kees', 'did you mean keys?'],
    ['keys/a/b', 'it is too long'],
    ['/other/keys', 'it is not below the account demo'],
    ['stor/x', 'cloud stor roles'],
  ]) {
    const { code, stderr } = await user.here(['roles', 'tags', 'set', path ?? '', 'red']);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words ?? '')]);
  }
  expect((await user.here(['roles', 'tags', 'get', 'keys/nothing'])).code).toBe(3);
});
