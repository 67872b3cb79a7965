import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { type Outcome } from '../support/sandbox.ts';
import { useShared } from '../support/shared-service.ts';

/** What a sub-user can do whose rights are few. */

const user = useShared('--http');
const key = join(user.home, 'alice.pem');

function asAlice(...words: string[]): Promise<Outcome> {
  return user.here([...words, '--user', 'alice', '--key-file', key]);
}

/** Gives alice a role with this rule. */
async function allow(role: string, rule: string): Promise<void> {
  await user.json('policies', 'create', role, '--rule', rule, '--wait');
  await user.json('roles', 'create', role, '--default-member', 'alice', '--policy', role, '--wait');
}

beforeAll(async () => {
  writeRsaKeyFile(key, { pem: true });
  for (const login of ['alice', 'victim'])
    await user.here(['users', 'create', login, '--email', 'a@example.com', '--password-stdin', '--wait'], { input: 'open sesame 1' });
  await user.json('users', 'keys', 'create', 'alice', `${key}.pub`);
});

test('ping needs no permission, only a registered key: both services respond', async () => {
  const { code, stdout, stderr } = await asAlice('ping', '-o', 'name');
  expect([code, stdout, stderr]).toEqual([0, 'compute\nstorage\n', '']);
  expect((await user.here(['ping', '--user', 'alice'])).code).toBe(4);
  const role = await asAlice('ping', '--role', 'none');
  expect([role.code, role.stderr]).toEqual([1, expect.stringContaining('/--ping (ping)')]);
  expect(await user.json('policies', 'simulate', 'alice', 'ping', '/--ping')).toMatchObject({ allowed: true, because: 'authenticated' });
  expect(await user.json('policies', 'simulate', 'alice', 'ping', '/--ping', '--with-role', 'none')).toMatchObject({ allowed: false });
  const wrong = await user.here(['policies', 'simulate', 'alice', 'ping', 'account']);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('hint: it applies to /--ping')]);
});

test('the hint of each refusal is a command that works, and its answer is that of the service', async () => {
  await user.json('roles', 'create', 'r two', '--wait');
  await user.here(['stor', 'mkdir', 'a b']);
  await user.here(['stor', 'mkdir', 'a%20b']);
  const own = (await user.json<{ fingerprint: string }[]>('users', 'keys', 'list', 'alice'))[0]?.fingerprint ?? '';
  const absent = '094f29a7-8f03-4837-b13a-3f5eb6255b00';
  for (const words of [
    ['account', 'limits'],
    ['keys', 'get', user.local.keyId],
    ['keys', 'delete', own, '-y'],
    ['users', 'get', 'ALICE'],
    ['users', 'get', 'nobody'],
    ['users', 'delete', absent, '-y'],
    ['users', 'keys', 'list', 'nobody'],
    ['users', 'keys', 'get', 'alice', own],
    ['roles', 'get', 'r two'],
    ['roles', 'get', 'none'],
    ['roles', 'tags', 'get', 'keys'],
    ['images', 'get', absent],
    ['packages', 'get', 'none'],
    ['datacenters', 'get', 'none'],
    ['api', '/my/policies/no%20such'],
    ['stor', 'ls', 'a b'],
    ['stor', 'ls', 'a%20b'],
    ['stor', 'ln', 'a b', 'c'],
    ['keys', 'list', '--role', 'none'],
  ]) {
    const { code, stderr } = await asAlice(...words);
    const [, line = ''] = /\nhint: the account finds the reason with: (.*)\n$/.exec(stderr) ?? [];
    const answer = await user.shell(line);
    expect([words, code, line, answer.code, answer.stdout]).toEqual([words, 4, line, 0, expect.stringMatching(/^Denied: alice may not /)]);
  }
});

test('what does not exist is decided by the role tags of its collection, by the service and by simulate', async () => {
  await allow('finders', 'CAN getuser, getrole, getuserkey, listuserkeys AND deleteuser');
  for (const path of ['users', 'users/alice/keys']) await user.json('roles', 'tags', 'set', path, 'finders');
  const absent = '094f29a7-8f03-4837-b13a-3f5eb6255b00';
  const simulate = async (...words: string[]) => {
    const { stdout, stderr } = await user.here(['policies', 'simulate', 'alice', ...words, '-j']);
    expect(stderr).toContain('does not exist');
    return (JSON.parse(stdout) as { allowed: boolean }).allowed;
  };
  for (const [method, path, action, status, allowed] of [
    ['GET', 'users/nobody', 'getuser', 3, true],
    ['GET', 'users/nobody/keys', 'listuserkeys', 3, true],
    ['GET', 'users/alice/keys/none', 'getuserkey', 3, true],
    ['GET', 'roles/none', 'getrole', 4, false],
    ['DELETE', `users/${absent}`, 'deleteuser', 4, false],
  ] as const) {
    expect([path, (await asAlice('api', method, `/my/${path}`)).code]).toEqual([path, status]);
    expect([path, await simulate(action, path)]).toEqual([path, allowed]);
  }
  for (const path of ['users', 'users/alice/keys']) await user.json('roles', 'tags', 'set', path);
});

test('who may change things and list none changes them by their ids; by name the error says why not', async () => {
  const ids = {
    policies: (await user.json<{ id: string }>('policies', 'create', 'victim', '--rule', 'CAN listkeys', '--wait')).id,
    roles: (await user.json<{ id: string }>('roles', 'create', 'victim', '--wait')).id,
    users: (await user.json<{ id: string }>('users', 'get', 'victim')).id,
  };
  await allow('changers', 'CAN updateuser, deleteuser, updaterole, deleterole, updatepolicy AND deletepolicy');
  for (const noun of Object.keys(ids)) await user.json('roles', 'tags', 'set', `${noun}/victim`, 'changers');
  const changes = { policies: ['--name', 'renamed'], roles: ['--name', 'renamed'], users: ['--login', 'renamed'] };
  for (const [noun, id] of Object.entries(ids)) {
    const change = changes[noun as keyof typeof changes];
    for (const words of [
      ['update', 'victim', ...change],
      ['delete', 'victim', '-y'],
    ]) {
      const { code, stderr } = await asAlice(noun, ...words);
      expect([noun, words, code, stderr]).toEqual([
        noun,
        words,
        4,
        expect.stringMatching(/\nhint: finding \w+ "victim" by name needs permission to list; the full id works without it\n$/),
      ]);
    }
    for (const words of [
      ['update', id, ...change],
      ['delete', id, '-y'],
    ])
      expect(await asAlice(noun, ...words)).toMatchObject({ code: 0 });
  }
  const fingerprint = await asAlice('keys', 'delete', 'laptop', '-y');
  expect([fingerprint.code, fingerprint.stderr]).toEqual([4, expect.stringContaining('the full fingerprint works without it')]);
});

test('who may change passwords and nothing else names the user by login', async () => {
  const input = 'open sesame 2';
  await user.here(['users', 'create', 'forgetful', '--email', 'a@example.com', '--password-stdin', '--wait'], { input });
  await allow('helpdesk', 'CAN changeuserpassword');
  await user.json('roles', 'tags', 'set', 'users/forgetful', 'helpdesk');
  const { code, stderr } = await asAlice('users', 'password', 'forgetful', '--password-file', user.write('password', input));
  expect([code, stderr]).toEqual([0, 'Changed the password of forgetful\n']);
  // Logins are the same in any case, to the service and so in what is looked up here.
  expect(await user.json('policies', 'simulate', 'ALICE', 'changeuserpassword', 'users/forgetful')).toMatchObject({ allowed: true });
  expect((await user.here(['users', 'delete', 'Forgetful', '-y'])).stderr).toBe('Deleted user forgetful\n');
});

test('a rule with a resource means the same one, whether rule, request and question name it by name or by id', async () => {
  const { fingerprint } = await user.json<{ fingerprint: string }>('keys', 'get', user.local.keyId);
  const { id, name } = await user.json<{ id: string; name: string }>('packages', 'get', 'g1-nano');
  await allow('readers', `CAN getkey, getuser AND getpackage /demo/keys/${fingerprint}, /demo/users/alice AND /demo/packages/${name}`);
  const own = await user.json<{ id: string }>('users', 'get', 'alice');
  const key = await user.json<{ name: string }>('keys', 'get', fingerprint);
  for (const path of [`keys/${fingerprint}`, 'users/alice', `packages/${id}`]) await user.json('roles', 'tags', 'set', path, 'readers');
  for (const [noun, action, ...words] of [
    ['keys', 'getkey', fingerprint, key.name],
    ['users', 'getuser', 'alice', 'ALICE', own.id],
    ['packages', 'getpackage', id, name],
  ] as const)
    for (const word of words) {
      expect(await asAlice('api', `/my/${noun}/${word}`)).toMatchObject({ code: 0 });
      expect(await user.json('policies', 'simulate', 'alice', action, `${noun}/${word}`)).toMatchObject({ allowed: true });
    }
});

test('who finds a role by name and may not change it gets the reason for that', async () => {
  await allow('seekers', 'CAN getrole');
  await user.json('roles', 'tags', 'set', 'roles/seekers', 'seekers');
  const { code, stderr } = await asAlice('roles', 'update', 'seekers', '--name', 'other');
  expect([code, stderr]).toEqual([
    4,
    expect.stringMatching(/\nhint: .*: cloud policies simulate alice updaterole \/demo\/roles\/[\da-f-]{36}\n$/),
  ]);
});

test('a pre-signed URL is for the roles that --role names', async () => {
  await user.json('policies', 'create', 'asked', '--rule', 'CAN listservices', '--wait');
  await user.json('roles', 'create', 'asked', '--member', 'alice', '--policy', 'asked', '--wait');
  await user.json('roles', 'tags', 'set', 'services', 'asked');
  const ask = async (...words: string[]): Promise<string> => {
    const { stdout } = await asAlice('api', 'sign', '/my/services', '-o', 'name', ...words);
    return (await user.shell(`curl -sk '${stdout.trim()}'`)).stdout;
  };
  expect(await ask()).toContain('NotAuthorized');
  expect(JSON.parse(await ask('--role', 'asked'))).toHaveProperty('storage');
  const short = await asAlice('api', 'sign', '/my/services', '--expires', '1ms');
  expect([short.code, short.stderr]).toEqual([2, expect.stringContaining('the minimum is 1 second')]);
});

test('so is a signed URL of the object storage: by stor sign and by api sign', async () => {
  await user.here(['policies', 'create', 'asked-stor', '--rule', 'CAN getobject', '--wait']);
  await user.here(['roles', 'create', 'asked-stor', '--member', 'alice', '--policy', 'asked-stor', '--wait']);
  user.write('shared', 'for readers');
  await user.here(['stor', 'put', 'shared', 'shared']);
  await user.json('stor', 'roles', 'set', 'shared', 'asked-stor');
  const fetchBy = async (...words: string[]): Promise<string> => {
    const { stdout } = await asAlice(...words);
    return (await user.shell(`curl -sk '${stdout.trim()}'`)).stdout;
  };
  const byApi = ['api', 'sign', '--service', 'stor', '/demo/stor/shared', '-o', 'name'];
  expect(await fetchBy(...byApi)).toContain('NoMatchingRoleTag');
  expect(await fetchBy(...byApi, '--role', 'asked-stor')).toBe('for readers');
  expect(await fetchBy('stor', 'sign', 'shared', '--role', 'asked-stor')).toBe('for readers');
});

test('mkdir -p and put -p make what is missing below the one directory that a sub-user has, without asking for those above', async () => {
  await user.here(['stor', 'mkdir', '-p', 'team/alice']);
  await allow('owners', 'CAN putdirectory, putobject, listdirectory AND getobject');
  await user.json('stor', 'roles', 'set', 'team/alice', 'owners');
  expect(await asAlice('stor', 'mkdir', '-p', 'team/alice/a/b', '-q')).toMatchObject({ code: 0, stderr: '' });
  expect(await asAlice('stor', 'mkdir', '-p', 'team/alice/a/b', '-q')).toMatchObject({ code: 0, stderr: '' });
  user.write('note', 'mine');
  expect(await asAlice('stor', 'put', '-p', 'note', 'team/alice/c/note', '-q')).toMatchObject({ code: 0, stderr: '' });
  expect((await asAlice('stor', 'cat', 'team/alice/c/note')).stdout).toBe('mine');
  const above = await asAlice('stor', 'mkdir', '-p', 'team/bob/x');
  expect([above.code, above.stderr]).toEqual([4, expect.stringContaining('/demo/stor/team')]);
});

test('who may only put objects stores files of every size, and learns before the body that a directory is missing', async () => {
  await user.here(['stor', 'mkdir', 'inbox']);
  await allow('writers', 'CAN putobject');
  await user.json('stor', 'roles', 'set', 'inbox', 'writers');
  user.write('small', 'small');
  user.write('large', 'large'.repeat(400_000));
  for (const words of [
    ['small', 'inbox/small'],
    ['large', 'inbox/large'],
    ['-', 'inbox/streamed'],
  ])
    expect(await asAlice('stor', 'put', ...words, '-q')).toMatchObject({ code: 0, stderr: '' });
  expect((await user.here(['stor', 'cat', 'inbox/large'])).stdout).toHaveLength(2_000_000);
  const missing = await asAlice('stor', 'put', 'large', 'inbox/none/x');
  expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining('/demo/stor/inbox/none')]);
});

test('who may list jobs sees the ids of all, and more of those that may be read', async () => {
  await allow('job-lister', 'CAN listjobs');
  await user.json('stor', 'roles', 'set', '/demo/jobs', 'job-lister');
  const created = await user.here(['jobs', 'create', '--map', 'cat', '-o', 'name']);
  expect(created.code).toBe(0);
  const { code, stdout, stderr } = await asAlice('jobs', 'list', '-j', '--role', 'job-lister');
  expect([code, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toContainEqual({ id: created.stdout.trim() });
  await user.here(['jobs', 'cancel', created.stdout.trim(), '-y']);
});

test('who may change headers, and no role tags, sets headers; other tags are refused, and the message names the right', async () => {
  await allow('describers', 'CAN putmetadata AND getobject');
  await user.json('roles', 'create', 'others', '--default-member', 'alice', '--wait');
  await user.here(['stor', 'put', '-', 'described'], { input: 'text' });
  await user.json('stor', 'roles', 'set', 'described', 'describers');
  expect(await asAlice('stor', 'meta', 'set', '/demo/stor/described', 'm-a=1')).toMatchObject({ code: 0 });
  const { code, stderr } = await asAlice('stor', 'roles', 'add', '/demo/stor/described', 'others');
  expect([code, stderr]).toEqual([4, expect.stringContaining('(setroletags)')]);
  await allow('taggers', 'CAN setroletags');
  await user.json('stor', 'roles', 'add', 'described', 'taggers');
  expect(await asAlice('stor', 'roles', 'add', '/demo/stor/described', 'others')).toMatchObject({ code: 0 });
});
