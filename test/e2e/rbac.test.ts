import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useLocal } from '../support/sandbox.ts';

const user = useLocal('--staleness', '700');

/** A new public key. */
function makeKey(name: string): string {
  return readFileSync(writeRsaKeyFile(join(user.home, name), { comment: name }), 'utf8').trim();
}

const env = { ALICE_PASSWORD: 'open sesame 1' };

function writeDocument(name: string, users: string): string {
  return user.write(
    name,
    `version: "1"
users:
${users}
policies:
  - name: read-keys
    rules: [CAN listkeys AND getkey]
roles:
  - name: dev
    default_members: [alice]
    policies: [read-keys]
tags:
  keys: [dev]
  images/debian-12@20250401: [dev]
`,
  );
}

test('a document is applied, waited for, applied again without effect, and exported as it is', async () => {
  const key = makeKey('alice');
  const file = writeDocument(
    'rbac.yaml',
    `  - { login: alice, email: alice@example.com, password: $ALICE_PASSWORD, keys: [{ name: laptop, key: "${key}" }] }`,
  );
  const diff = await user.here(['rbac', 'diff', file]);
  expect([diff.code, diff.stderr]).toEqual([0, '4 to create, 2 to update\n']);
  expect(diff.stdout).toMatch(
    /^\+ user alice\n {4}\+ login: alice\n.*\+ key alice\/laptop\n.*\+ policy read-keys\n.*\+ role dev\n.*~ tags keys\n {4}\+ role-tag: dev\n/s,
  );
  const unset = await user.here(['rbac', 'apply', file]);
  expect([unset.code, unset.stderr]).toEqual([2, expect.stringContaining('the environment variable $ALICE_PASSWORD is not set')]);
  const applied = await user.here(['rbac', 'apply', file], { env });
  expect([applied.code, applied.stderr, applied.stdout]).toEqual([0, '6 changes done\n', diff.stdout]);
  expect((await user.here(['rbac', 'apply', file])).stderr).toBe('Nothing to change\n');
  const exported = await user.here(['rbac', 'export']);
  expect(exported.stdout).toContain('# yaml-language-server: $schema=rbac.schema.json\n');
  expect(exported.stdout).not.toContain('password');
  const copy = user.write('copy.yaml', exported.stdout);
  const again = await user.here(['rbac', 'apply', copy, '--prune', '--yes', '-j']);
  expect([again.code, again.stderr, again.stdout]).toEqual([0, '{"note":"Nothing to change"}\n', '[]\n']);
});

test('an entry with an id is renamed; what the file does not mention goes with --prune only, after a question', async () => {
  const exported = await user.here(['rbac', 'export']);
  const renamed = user.write(
    'renamed.yaml',
    exported.stdout.replaceAll('alice', 'alicia').replaceAll('name: dev', 'name: ops').replaceAll('- dev', '- ops'),
  );
  expect((await user.here(['rbac', 'apply', renamed])).code).toBe(0);
  expect((await user.json<{ login: string }[]>('users', 'list')).map(({ login }) => login)).toEqual(['alicia']);
  expect(await user.json('roles', 'tags', 'get', 'keys')).toMatchObject({ 'role-tag': ['ops'] });
  const empty = user.write('empty.yaml', 'version: "1"\nusers: []\nroles: []\npolicies: []\ntags: {}\n');
  expect((await user.here(['rbac', 'diff', empty])).stderr).toBe('No differences\n');
  const asked = await user.here(['rbac', 'apply', empty, '--prune']);
  expect([asked.code, asked.stderr]).toEqual([
    2,
    expect.stringContaining('Delete role ops, policy read-keys, user alicia? Nothing was done'),
  ]);
  const pruned = await user.here(['rbac', 'apply', empty, '--prune', '--yes']);
  expect([pruned.code, pruned.stdout]).toEqual([0, expect.stringMatching(/- role ops\n- policy read-keys\n- user alicia\n$/)]);
});

test('a refusal stops the work, says what is not done, and the same command goes on', async () => {
  const bad = user.write(
    'bad.yaml',
    'version: "1"\npolicies:\n  - { name: good, rules: [CAN listkeys] }\n  - { name: bad, rules: [CAN listkeys getkey AND] }\nroles:\n  - { name: last, policies: [good] }\n',
  );
  const { code, stderr, stdout } = await user.here(['rbac', 'apply', bad, '-j']);
  expect([code, JSON.parse(stdout)]).toEqual([5, [expect.objectContaining({ status: 'done', kind: 'policy', name: 'good' })]]);
  expect(stderr).toContain('policy bad: ');
  expect(stderr).toContain('1 of 3 changes are done. Not done: policy bad, role last.');
  const again = await user.here(['rbac', 'apply', bad]);
  expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/^cloud rbac apply \S+: policy bad: rules\[0\]: [^\n]*\n$/)]);
  const mended = user.write('bad.yaml', readFileSync(bad, 'utf8').replace('CAN listkeys getkey AND', 'CAN getkey'));
  expect((await user.here(['rbac', 'apply', mended])).stderr).toBe('2 changes done\n');
});

test('mistakes in a document are named with their place, and nothing is done', async () => {
  for (const [content, words] of [
    ['users: []', 'version: is missing'],
    ['version: "1"\nusers: [{ login: a, email: b, password: secret }]', 'passwords are not written into files'],
    ['version: "1"\nroles: [{ name: dev, members: [nobody] }]', 'roles: dev: there is no user "nobody"'],
    ['version: "1"\nrules: []', 'rules: is not a known field\nhint: did you mean roles?'],
    ['version: "1"\ntags: { kees: [dev] }', 'did you mean keys?'],
    ['version: "1"\nroles: [{ name: a }, { name: a }]', 'roles: two entries have the name "a"'],
    ['version: "1"\nusers: [{ login: abc, email: a@b.cd, keys: [{ key: nonsense }] }]', 'users: abc: keys[0]: is not a public key'],
  ]) {
    const { code, stderr } = await user.here(['rbac', 'diff', '-'], { input: content ?? '' });
    expect([code, stderr]).toEqual([2, expect.stringContaining(words ?? '')]);
  }
});

test('roles and policies that differ in case alone are different ones, as they are to the service', async () => {
  const policies = '[{ name: same, rules: [CAN listkeys] }, { name: Same, rules: [CAN getkey] }]';
  const { code, stderr } = await user.here(['rbac', 'diff', '-'], {
    input: `version: "1"\npolicies: ${policies}\nroles: [{ name: twin }, { name: Twin }]`,
  });
  expect([code, stderr]).toEqual([0, '4 to create\n']);
});

test('changes one after the other are not lost although reads lag', async () => {
  const input = 'open sesame 1';
  for (const login of ['one', 'two']) {
    await user.here(['users', 'create', login, '--email', `${login}@example.com`, '--password-stdin', '--wait'], { input });
  }
  await user.json('roles', 'create', 'quick', '--wait');
  await user.json('policies', 'create', 'quick', '--rule', 'CAN listkeys', '--wait');
  for (const login of ['one', 'two']) await user.json('roles', 'update', 'quick', '--add-member', login);
  for (const rule of ['CAN getkey', 'CAN listusers']) await user.json('policies', 'update', 'quick', '--add-rule', rule);
  const role = await user.json<{ members: { login: string }[] }>('roles', 'update', 'quick', '--name', 'quick', '--wait');
  expect(role.members.map(({ login }) => login)).toEqual(['one', 'two']);
  const policy = await user.json('policies', 'update', 'quick', '--name', 'quick', '--wait');
  expect(policy).toMatchObject({ rules: ['CAN listkeys', 'CAN getkey', 'CAN listusers'] });
});

test('a rule or role that gives somebody the right to everything is named by check, diff and apply', async () => {
  const power = 'createrole gives full control of the account';
  const checked = await user.here(['policies', 'check', '-'], { input: 'CAN createrole\n' });
  expect([checked.code, checked.stdout]).toEqual([0, expect.stringContaining(power)]);
  const file = user.write(
    'power.yaml',
    'version: "1"\npolicies:\n  - name: power\n    rules: [CAN listroles, CAN createrole]\nroles:\n  - name: administrator\n',
  );
  const warnings = [`warning: policy power: ${power}`, 'warning: role administrator: members of administrator may do everything'];
  for (const words of [
    ['diff', file],
    ['apply', file, '--dry-run'],
    ['apply', file],
  ]) {
    const { code, stderr } = await user.here(['rbac', ...words]);
    expect([words, code]).toEqual([words, 0]);
    for (const warning of warnings) expect(stderr).toContain(warning);
  }
  // What was there before is not said again.
  const again = user.write(
    'power.yaml',
    'version: "1"\npolicies:\n  - name: power\n    rules: [CAN listroles, CAN createrole, CAN ping]\n',
  );
  const { stderr } = await user.here(['rbac', 'diff', again]);
  expect(stderr).not.toContain('warning');
});

test('rules with regular expressions are imported, evaluated and exported unchanged', async () => {
  const rules = ['CAN /^list/::regex', 'CAN getobject "/^\\/demo\\/stor/i::regexp" WHEN method = get', 'CAN  /key$/  AND putobject'];
  const lines = rules.map((rule) => `      - ${JSON.stringify(rule)}`).join('\n');
  const file = user.write('expressions.yaml', `version: "1"\npolicies:\n  - name: expressions\n    rules:\n${lines}\n`);
  expect((await user.here(['rbac', 'apply', file])).code).toBe(0);
  const { stdout } = await user.here(['rbac', 'export']);
  const exported = (text: string): unknown =>
    (parse(text) as { policies: { name: string; rules: string[] }[] }).policies.find(({ name }) => name === 'expressions')?.rules;
  expect(exported(stdout)).toEqual(rules);
  expect((await user.json<{ rules: string[] }>('policies', 'get', 'expressions')).rules).toEqual(rules);
  // The export brings the same policy back.
  const copy = user.write('exported.yaml', stdout);
  expect((await user.here(['policies', 'delete', 'expressions', '-y', '--wait'])).code).toBe(0);
  expect((await user.here(['rbac', 'apply', copy])).code).toBe(0);
  expect(exported((await user.here(['rbac', 'export'])).stdout)).toEqual(rules);
  expect((await user.here(['rbac', 'apply', file])).stderr).toBe('Nothing to change\n');
  await user.json(
    'users',
    'create',
    'lister',
    '--email',
    'l@example.com',
    '--password-file',
    user.write('password', 'secret123'),
    '--wait',
  );
  await user.json('roles', 'create', 'listers', '--default-member', 'lister', '--policy', 'expressions', '--wait');
  await user.json('roles', 'tags', 'set', 'users', 'listers');
  expect(await user.json('policies', 'simulate', 'lister', 'listusers', 'users')).toMatchObject({ allowed: true });
  expect((await user.here(['policies', 'simulate', 'lister', 'createuser', 'users'])).stdout).toContain('no');
});

test('all changes are made although nobody reads the output any more', async () => {
  const names = ['one', 'two', 'three', 'four', 'five', 'six'].map((name) => `piped-${name}`);
  const entries = names.map((name) => `  - { name: ${name}, rules: [CAN listkeys] }\n`).join('');
  user.write('piped.yaml', `version: "1"\npolicies:\n${entries}`);
  const piped = await user.shell('set -o pipefail; cloud rbac apply piped.yaml -q | true');
  expect([piped.code, piped.stderr]).toEqual([0, '']);
  const made = await user.json<{ name: string }[]>('policies', 'list');
  expect(made.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
  const tagged = await user.shell('set -o pipefail; cloud roles create piped -q >/dev/null; cloud roles tags set -r policies piped | true');
  expect([tagged.code, tagged.stderr]).toEqual([0, '']);
  for (const name of names) expect(await user.json('roles', 'tags', 'get', `policies/${name}`)).toMatchObject({ 'role-tag': ['piped'] });
});

test('role tags of what neither the account nor the document has are refused before anything is done', async () => {
  const start = `version: "1"
users: [{ login: tagged, email: a@example.com, password: $ALICE_PASSWORD, keys: [{ name: desk, key: "${makeKey('desk')}" }] }]
policies: [{ name: tagging, rules: [CAN listkeys] }]
roles: [{ name: tagger, policies: [tagging] }]
tags:
`;
  for (const [path, hint] of [
    ['keys/nosuch', 'take it out of the document'],
    ['policies/taging', 'did you mean policies/tagging?'],
    ['roles/nosuch', 'take it out of the document'],
    ['users/nosuch', 'take it out of the document'],
    ['users/tagged/keys/dsk', 'did you mean users/tagged/keys/desk?'],
    ['images/debian-21', 'did you mean images/debian-12?'],
    ['packages/nosuch', 'take it out of the document'],
  ]) {
    const file = user.write('absent.yaml', `${start}  ${path}: [tagger]\n`);
    for (const line of [['diff'], ['apply', '--dry-run'], ['apply'], ['impact']]) {
      const { code, stdout, stderr } = await user.here(['rbac', ...line, file], { env });
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(`tags: ${path} will not exist\nhint: ${hint}`)]);
    }
  }
  const own = user.local.keyId;
  const [named] = await user.json<{ name: string }[]>('packages', 'list');
  const paths = ['users/TAGGED', 'users/tagged/keys/desk', 'policies/tagging', 'roles/tagger', `keys/${own.toUpperCase()}`];
  const lines = [...paths, `packages/${named?.name ?? ''}`, 'images/debian-12'].map((path) => `  ${path}: [tagger]\n`);
  const applied = await user.here(['rbac', 'apply', user.write('present.yaml', start + lines.join(''))], { env });
  expect([applied.code, applied.stderr]).toEqual([0, '11 changes done\n']);
  const pruned = user.write('pruned.yaml', 'version: "1"\nusers: []\ntags: { users/tagged: [tagger] }\n');
  expect((await user.here(['rbac', 'diff', pruned])).code).toBe(0);
  expect((await user.here(['rbac', 'diff', pruned, '--prune'])).stderr).toContain('tags: users/tagged will not exist');
});
