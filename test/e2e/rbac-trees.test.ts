import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { useShared } from '../support/shared-service.ts';

/** Role tags of whole trees in the access document: collections with their members, directories with what is in them. */

const user = useShared('--http');
const env = { PASSWORD: 'open sesame 1' };

beforeAll(async () => {
  const made = await user.line(
    'mkdir -p tree/a && echo 1 > tree/one && echo 2 > tree/a/two && cloud stor put -q -r -T tree photos && cloud stor meta set -q photos/one colour=red',
  );
  if (made.code !== 0) throw new Error(made.stderr);
});

function write(trees: string): string {
  return user.write(
    'rbac.yaml',
    `version: "1"
users:
  - { login: alice, email: a@example.com, password: $PASSWORD }
policies:
  - { name: look, rules: [CAN getobject AND getuser] }
roles:
  - { name: dev, default_members: [alice], policies: [look] }
  - { name: ops }
trees:
${trees}`,
  );
}

const trees = `  users: [dev]
  stor/photos: [dev]
  stor/photos/a: [ops, dev]
`;
const rolesOf = async (path: string): Promise<string[]> => (await user.json<{ roles: string[] }>('stor', 'roles', 'get', path)).roles;
const tagsOf = async (path: string): Promise<string[]> =>
  (await user.json<{ 'role-tag': string[] }>('roles', 'tags', 'get', path))['role-tag'];

test('a document tags collections and directories with everything in them, what it makes itself included, and says what that grants', async () => {
  const file = write(trees);
  const changes = await user.json<{ kind: string; name: string }[]>('rbac', 'diff', file);
  const tagged = ['stor/photos', 'stor/photos/a', 'stor/photos/a/two', 'stor/photos/one', 'users', 'users/alice', 'users/alice/keys'];
  const names = (list: readonly { kind: string; name: string }[]): string[] =>
    list.flatMap(({ kind, name }) => (kind === 'tags' ? [name] : [])).toSorted();
  expect(names(changes)).toEqual(tagged);
  const effects = await user.json<{ user: string; resource: string; change: string; actions: string[] }[]>('rbac', 'impact', file);
  const gained = effects.filter(({ resource }) => resource.startsWith('stor/'));
  expect(gained.map(({ resource }) => resource).toSorted()).toEqual(tagged.slice(0, 4));
  for (const { user: who, change, actions } of gained) expect([who, change, actions]).toEqual(['alice', 'granted', ['getobject']]);
  const applied = await user.here(['rbac', 'apply', file], { env });
  expect([applied.code, applied.stderr]).toEqual([0, `${changes.length} changes done\n`]);
  expect([await rolesOf('photos'), await rolesOf('photos/one')]).toEqual([['dev'], ['dev']]);
  expect((await rolesOf('photos/a/two')).toSorted()).toEqual(['dev', 'ops']);
  expect([await tagsOf('users'), await tagsOf('users/alice')]).toEqual([['dev'], ['dev']]);
  expect(await user.json('stor', 'meta', 'get', 'photos/one')).toMatchObject({ 'm-colour': 'red' });
  expect((await user.here(['rbac', 'apply', file, '--prune', '--yes'])).stderr).toBe('Nothing to change\n');
  // What came with other tags meanwhile.
  await user.json('stor', 'roles', 'set', 'photos/one', 'ops');
  expect(names(await user.json('rbac', 'diff', file))).toEqual(['stor/photos/one']);
  expect((await user.here(['rbac', 'apply', file])).stderr).toBe('1 change done\n');
  const asked = await user.json<{ user: string }[]>('policies', 'who-can', 'getobject', 'stor:photos/a/two', '--from', file);
  expect(asked.map(({ user: who }) => who)).toContain('alice');
});

test('an export with trees is short, and applying it changes nothing', async () => {
  const exported = await user.here(['rbac', 'export', '--tree', 'users', '--tree', 'stor/photos']);
  const document = parse(exported.stdout) as { trees: object; tags: object };
  expect(document.trees).toEqual({ users: ['dev'], 'stor/photos': ['dev'], 'stor/photos/a': ['dev', 'ops'] });
  expect(document.tags).toEqual({});
  const again = await user.here(['rbac', 'diff', user.write('copy.yaml', exported.stdout), '--prune']);
  expect([again.code, again.stderr]).toEqual([0, 'No differences\n']);
  const drawn = await user.here(['rbac', 'graph', 'copy.yaml', '-o', 'dot']);
  expect(drawn.stdout).toContain('stor/photos/**');
});

test.each([
  ['stor/nothere: [dev]', 3, 'trees: stor/nothere does not exist'],
  ['users/bob: [dev]', 2, 'trees: users/bob will not exist'],
  ['keys/nosuch: [dev]', 2, 'trees: keys/nosuch will not exist'],
  ['stor/photos: [nobody]', 2, 'trees: stor/photos: there is no role "nobody"'],
  ['stor/../photos: [dev]', 2, '"stor/../photos" is not a path'],
  ['jobs/x: [dev]', 2, '"jobs/x" is not a resource'],
  ['users: dev', 2, 'trees.users: must be a list of names of roles'],
])('a tree that cannot be is refused before anything is done: %s', async (line, code, words) => {
  const refused = await user.here(['rbac', 'apply', write(`  ${line}\n`)], { env });
  expect([refused.code, refused.stdout, refused.stderr]).toEqual([code, '', expect.stringContaining(words)]);
});

test('tags of the document are about the compute service; the hint names trees', async () => {
  const refused = await user.here(['rbac', 'diff', user.write('tags.yaml', 'version: "1"\ntags:\n  /my/stor/photos: [dev]\n')]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('under trees')]);
});
