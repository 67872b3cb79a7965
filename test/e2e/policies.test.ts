import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useShared } from '../support/shared-service.ts';

interface Policy {
  id: string;
  name: string;
  rules: string[];
  description?: string;
}

const user = useShared('--http');

test('a policy is created, its rules added and removed, renamed and deleted', async () => {
  const created = await user.json<Policy>('policies', 'create', 'keys', '--rule', 'CAN listkeys', '--description', 'Keys', '--wait');
  expect(created).toMatchObject({ name: 'keys', rules: ['CAN listkeys'], description: 'Keys' });
  const words = ['policies', 'update', 'keys', '--add-rule', 'CAN getkey', '--name', 'read-keys', '--wait'];
  expect(await user.json(...words)).toMatchObject({ id: created.id, name: 'read-keys', rules: ['CAN listkeys', 'CAN getkey'] });
  expect(await user.json('policies', 'update', created.id, '--remove-rule', 'can  listkeys', '--wait')).toMatchObject({
    rules: ['CAN getkey'],
  });
  const last = await user.here(['policies', 'update', 'read-keys', '--remove-rule', 'CAN getkey']);
  expect([last.code, last.stderr]).toEqual([2, expect.stringContaining('hint: to delete it: cloud policies delete read-keys')]);
  const wrong = await user.here(['policies', 'create', 'wrong', '--rule', 'CAN listkeys getkey AND']);
  const [, line = ''] = /\nhint: to see where: (.*)\n$/.exec(wrong.stderr) ?? [];
  expect([wrong.code, line]).toEqual([1, "printf '%s\\n' 'CAN listkeys getkey AND' | cloud policies check -"]);
  expect((await user.shell(line)).stdout).toContain('CAN listkeys getkey AND');
  const second = await user.here(['policies', 'update', 'read-keys', '--add-rule', "MAY it's"]);
  const [, place = ''] = /\nhint: to see where: (.*)\n$/.exec(second.stderr) ?? [];
  expect((await user.shell(place)).stdout).toContain("MAY it's");
  const warned = await user.here(['policies', 'update', 'read-keys', '--add-rule', 'CAN getKey', '--wait']);
  expect(warned.stderr).toContain('warning: rule 2: actions are in lower case: "getKey" never matches, write getkey');
  expect((await user.here(['policies', 'rm', 'read-keys', '-y'])).stderr).toBe('Deleted policy read-keys\n');
});

test('edit changes a policy in the editor', async () => {
  await user.json('policies', 'create', 'edited', '--rule', 'CAN listkeys', '--wait');
  const env = { EDITOR: 'sed -i s/listkeys/listusers/' };
  expect((await user.here(['policies', 'edit', 'edited', '--wait'], { env })).stderr).toBe('Updated policy edited\n');
  expect(await user.json('policies', 'get', 'edited')).toMatchObject({ rules: ['CAN listusers'] });
});

test('check works without a profile, puts a caret under the place, and fails for what a service refuses', async () => {
  const env = { CLOUD_PROFILE: 'none' };
  const bad = await user.here(['policies', 'check', '-'], { input: 'CAN listkeys\n# a comment\nCAN listkeys, getkey\n', env });
  expect([bad.code, bad.stdout]).toEqual([
    1,
    'rule 2: error: the last entry of a list follows AND, not a comma: getkey, listkeys AND createkey\n  CAN listkeys, getkey\n              ^\n',
  ]);
  const good = await user.here(['policies', 'check', '-', '-j'], { input: 'name: p\nrules:\n  - CAN listkey\n', env });
  expect([good.code, JSON.parse(good.stdout)]).toEqual([0, [expect.objectContaining({ policy: 'p', suggestion: 'listkeys', offset: 4 })]]);
  const json = await user.here(['policies', 'check', '-', '-j'], { input: '["CAN"]', env });
  expect([json.code, JSON.parse(json.stdout)]).toEqual([1, [expect.objectContaining({ severity: 'error', rule: 1 })]]);
});

const document = `version: "1"
users: [{ login: alice, email: a@example.com }]
policies:
  - name: office
    rules:
      - CAN listkeys WHEN day IN (mon, tue)
      - CAN getkey WHEN sourceip = 10.0.0.0/8
roles:
  - { name: dev, default_members: [alice], policies: [office] }
  - { name: ops, members: [alice], policies: [office] }
tags:
  keys: [dev]
  keys/laptop: [ops]
`;

test('simulate answers from a document, with the way that leads to the answer', async () => {
  const file = user.write('rbac.yaml', document);
  const ask = (...words: string[]) =>
    user.here(['policies', 'simulate', 'alice', ...words, '--from', file], { env: { CLOUD_PROFILE: undefined } });
  const monday = await ask('listkeys', 'keys', '--at', 'monday 10:00');
  expect(monday.stdout).toBe(
    'Allowed: alice may listkeys /demo/keys.\nRole dev, policy office, rule: CAN listkeys WHEN day IN (mon, tue)\nThe resource has the role tag dev.\n',
  );
  const sunday = await ask('listkeys', 'keys', '--at', '2024-06-02T10:00Z', '--expect', 'allow');
  expect([sunday.code, sunday.stderr]).toEqual([1, expect.stringContaining('the answer is deny')]);
  const inactive = await ask('getkey', 'keys/laptop', '--source', '10.1.2.3', '-j');
  expect(JSON.parse(inactive.stdout)).toMatchObject({ allowed: false, inactive: ['ops'], reasons: [{ role: 'dev', missing: 'no-tag' }] });
  expect((await ask('getkey', 'keys/laptop', '--source', '10.1.2.3', '--with-role', 'ops', '--expect', 'allow')).code).toBe(0);
  const kind = await ask('getkey', 'keys');
  expect([kind.code, kind.stderr]).toEqual([2, expect.stringContaining('getkey does not apply to keys\nhint: it applies to keys/KEY')]);
  const action = await ask('lstkeys', 'keys');
  expect([action.code, action.stderr]).toEqual([2, expect.stringContaining('did you mean listkeys?')]);
});

test('who-can lists everybody who may, through what, and who has to ask for a role', async () => {
  const file = user.write('who.yaml', document.replace('ops, members: [alice]', "ops, members: [alice, 'account:partner']"));
  const ask = (...words: string[]) =>
    user.here(['policies', 'who-can', ...words, '--from', file, '--columns', 'user,ask,role,rule'], { env: { CLOUD_PROFILE: undefined } });
  const monday = await ask('listkeys', 'keys', '--at', 'monday 10:00');
  expect(monday).toMatchObject({ code: 0, stderr: '' });
  expect(monday.stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['USER', 'ASK', 'ROLE', 'RULE'],
    ['account:demo', '-', '-', '-'],
    ['alice', '-', 'dev', 'CAN listkeys WHEN day IN (mon, tue)'],
    [''],
  ]);
  expect((await ask('listkeys', 'keys', '--at', '2024-06-02T10:00Z', '-o', 'name')).stdout).toBe('account:demo\n');
  const near = await ask('getkey', 'keys/laptop', '--source', '10.1.2.3', '-j');
  const rule = 'CAN getkey WHEN sourceip = 10.0.0.0/8';
  expect(JSON.parse(near.stdout)).toEqual([
    { user: 'account:demo', ask: [] },
    { user: 'alice', ask: ['ops'], role: 'ops', rule },
    { user: 'account:partner', ask: ['ops'], role: 'ops', rule },
  ]);
  const nowhere = await ask('getkey', 'keys/laptop', '-o', 'name');
  expect([nowhere.stdout, nowhere.stderr]).toEqual([
    'account:demo\n',
    expect.stringContaining('a condition on "sourceip" allow nobody here'),
  ]);
  const kind = await ask('getkey', 'keys');
  expect([kind.code, kind.stderr]).toEqual([2, expect.stringContaining('hint: it applies to keys/KEY')]);
});

test('what is not there yet has the role tags of the directory that it would be in', async () => {
  await user.here(['users', 'create', 'writer', '--email', 'a@example.com', '--password-stdin', '--wait'], { input: 'open sesame 1' });
  await user.json('policies', 'create', 'write', '--rule', 'CAN putobject AND getobject', '--wait');
  await user.json('roles', 'create', 'writers', '--default-member', 'writer', '--policy', 'write', '--wait');
  await user.here(['stor', 'mkdir', 'shared']);
  await user.here(['stor', 'roles', 'set', 'shared', 'writers']);
  expect(await user.json('policies', 'simulate', 'writer', 'putobject', 'shared/new')).toMatchObject({ allowed: true, tag: 'writers' });
  const names = async (...words: string[]) => (await user.here(['policies', 'who-can', ...words, '-o', 'name'])).stdout.split('\n');
  expect(await names('putobject', 'shared/a/b')).toEqual(['account:demo', 'writer', '']);
  expect(await names('putobject', 'elsewhere')).toEqual(['account:demo', '']);
  expect(await names('getobject', '~~/public/page.html')).toEqual(['*', 'account:demo', '']);
  expect((await user.here(['policies', 'who-can', 'getrole', 'roles/nothere'])).code).toBe(3);
});

test('a refused sub-user is pointed to the question that explains the refusal, and the answer is right', async () => {
  const input = 'open sesame 1';
  await user.here(['users', 'create', 'alice', '--email', 'a@example.com', '--password-stdin', '--wait'], { input });
  const key = join(user.home, 'alice.pem');
  writeRsaKeyFile(key, { pem: true });
  await user.json('users', 'keys', 'create', 'alice', `${key}.pub`);
  const asAlice = (...words: string[]) => user.here([...words, '--user', 'alice', '--key-file', key]);
  const refused = await asAlice('keys', 'list');
  expect(refused.code).toBe(4);
  const line = /hint: the account finds the reason with: (cloud policies simulate alice listkeys \/\S+)/.exec(refused.stderr)?.[1] ?? '';
  expect((await user.shell(line)).stdout).toBe('Denied: alice may not listkeys /demo/keys.\nNo role is active.\n');
  const unsigned = await user.here(['keys', 'list', '--user', 'alice']);
  expect([unsigned.code, unsigned.stderr]).toEqual([4, expect.stringContaining('\nhint: sign with a key of alice: --key-file FILE')]);
  await user.json('policies', 'create', 'list', '--rule', 'CAN listkeys', '--wait');
  await user.json('roles', 'create', 'lister', '--member', 'alice', '--policy', 'list', '--wait');
  await user.json('roles', 'tags', 'set', 'keys', 'lister');
  expect((await user.shell(line)).stdout).toContain(
    'Role lister would allow it, but is not active: request it with --role lister, or simulate it with --with-role lister.',
  );
  expect((await asAlice('keys', 'list', '--role', 'lister')).code).toBe(0);
});

test('a sub-user who may see one thing and list nothing sees it', async () => {
  const rule = 'CAN getkey, getuser, getuserkey, getrole AND getpolicy';
  const { id } = await user.json<Policy>('policies', 'create', 'one', '--rule', rule, '--wait');
  await user.json('roles', 'create', 'one', '--default-member', 'alice', '--policy', 'one', '--wait');
  const key = join(user.home, 'alice.pem');
  const fingerprint = (await user.here(['users', 'keys', 'list', 'alice', '-o', 'name'])).stdout.trim();
  const own = user.local.keyId;
  for (const path of ['users/alice', `users/alice/keys/${fingerprint}`, `keys/${own}`, 'roles/one', 'policies/one'])
    await user.json('roles', 'tags', 'set', path, 'one');
  const asAlice = (line: string) => user.here([...line.split(' '), '-o', 'name', '--user', 'alice', '--key-file', key]);
  for (const [line, name] of [
    ['users get alice', 'alice'],
    [`users keys get alice ${fingerprint}`, fingerprint],
    [`keys get MD5:${own}`, own],
    ['roles get one', 'one'],
    [`policies get ${id}`, 'one'],
  ])
    expect(await asAlice(line ?? '')).toMatchObject({ code: 0, stdout: `${name}\n`, stderr: '' });
  const other = await asAlice('roles get lister');
  expect([other.code, other.stderr]).toEqual([4, expect.stringContaining('/demo/roles/lister (getrole)')]);
});

test('update --rule replaces all rules', async () => {
  await user.json('policies', 'create', 'replaced', '--rule', 'CAN listkeys', '--rule', 'CAN listusers', '--wait');
  const updated = await user.json('policies', 'update', 'replaced', '--rule', 'CAN /^list/::regex', '--wait');
  expect(updated).toMatchObject({ rules: ['CAN /^list/::regex'] });
  expect((await user.here(['policies', 'delete', 'replaced', '-y'])).code).toBe(0);
});

test('the datacenter and the time in conditions are those of the service unless an option gives others', async () => {
  const soon = new Date(Date.now() + 120_000).toISOString();
  const input = `version: "1"
users: [{ login: sim, email: a@example.com, password: $SECRET }]
policies:
  - { name: here, rules: ["CAN listpackages * WHEN datacenter::string = local"] }
  - { name: soon, rules: ["CAN listimages * WHEN date::date > ${soon}"] }
roles: [{ name: near, default_members: [sim], policies: [here, soon] }]
`;
  const file = user.write('near.yaml', input);
  const granted = await user.json<{ actions: string[] }[]>('rbac', 'impact', file);
  expect(granted.map(({ actions }) => actions)).toEqual([['listpackages']]);
  expect((await user.here(['rbac', 'apply', file], { env: { SECRET: 'open sesame 1' } })).code).toBe(0);
  const ask = async (...words: string[]) => await user.json('policies', 'simulate', 'sim', ...words);
  expect(await ask('listpackages', 'packages')).toMatchObject({ allowed: true });
  expect(await ask('listpackages', 'packages', '--datacenter', 'east')).toMatchObject({ allowed: false });
  const names = async (...words: string[]) => (await user.here(['policies', 'who-can', ...words, '-o', 'name'])).stdout;
  expect(await names('listpackages', 'packages')).toBe('account:demo\nsim\n');
  const offline = await user.here(['policies', 'who-can', 'listpackages', 'packages', '--from', file, '-o', 'name']);
  expect([offline.stdout, offline.stderr]).toEqual(['account:demo\n', expect.stringContaining('not given: give --datacenter NAME')]);
  expect(await ask('listpackages', 'packages', '--from', file, '--datacenter', 'local')).toMatchObject({ allowed: true });
  // Responses have a Date that is four minutes ahead of this machine.
  expect(await ask('listimages', 'images')).toMatchObject({ allowed: false });
  await user.here(['local', 'clock', 'skew', '4m']);
  expect(await ask('listimages', 'images')).toMatchObject({ allowed: true });
  expect(await ask('listimages', 'images', '--at', '2024-05-01T09:00Z')).toMatchObject({ allowed: false });
  await user.here(['local', 'clock', 'reset']);
});
