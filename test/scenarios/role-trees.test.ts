import { beforeAll, describe, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** Role tags of whole trees: directories with what is in them, and collections with their members. */

const user = useShared('--http');

beforeAll(async () => {
  for (const role of ['dev', 'ops']) await user.json('roles', 'create', role, '--wait');
  const made = await user.line(
    'mkdir -p tree/a/b && echo 1 > tree/one && echo 2 > tree/a/two && echo 3 > tree/a/b/three && cloud stor put -q -r -T tree tree && cloud stor meta set -q tree/one colour=red',
  );
  if (made.code !== 0) throw new Error(made.stderr);
});

interface Tagged {
  path: string;
  roles: string[];
}

function printTags(tagged: readonly Tagged[]): string[] {
  return tagged.map(({ path, roles }) => `${path} ${roles.join('+')}`).toSorted();
}

const tree = ['', '/a', '/a/b', '/a/b/three', '/a/two', '/one'].map((path) => `/demo/stor/tree${path}`);
const tagsOf = async (path: string): Promise<string[]> => (await user.json<Tagged>('stor', 'roles', 'get', path)).roles;

test('a directory is tagged with everything in it, and what was stored stays', async () => {
  expect(printTags(await user.json('stor', 'roles', 'set', '-r', 'tree', 'dev'))).toEqual(tree.map((path) => `${path} dev`));
  for (const path of tree) expect(await tagsOf(path)).toEqual(['dev']);
  expect(await user.json('stor', 'meta', 'get', 'tree/one')).toMatchObject({ 'm-colour': 'red' });
  expect((await user.here(['stor', 'cat', 'tree/a/b/three'])).stdout).toBe('3\n');
  const rehearsed = await user.json<Tagged[]>('stor', 'roles', 'add', '-r', '-n', 'tree/a', 'ops');
  expect(printTags(rehearsed)).toEqual(tree.slice(1, 5).map((path) => `${path} dev+ops`));
  expect(await tagsOf('tree/a/two')).toEqual(['dev']);
  await user.json('stor', 'roles', 'add', '-r', 'tree/a', 'ops');
  expect(printTags(await user.json('stor', 'roles', 'remove', '-r', 'tree', 'dev'))).toEqual([
    '/demo/stor/tree ',
    ...tree.slice(1, 5).map((path) => `${path} ops`),
    '/demo/stor/tree/one ',
  ]);
});

test('an object, what is not there, and a role that does not exist', async () => {
  expect(printTags(await user.json('stor', 'roles', 'set', '-r', 'tree/one', 'ops'))).toEqual(['/demo/stor/tree/one ops']);
  const missing = await user.here(['stor', 'roles', 'set', '-r', 'nothere', 'dev']);
  expect([missing.code, missing.stdout, missing.stderr]).toEqual([3, '', expect.stringContaining('/demo/stor/nothere')]);
  const unknown = await user.here(['stor', 'roles', 'set', '-r', 'tree/a', 'norole']);
  expect(unknown.code).not.toBe(0);
  expect(unknown.stderr).toContain('4 of 4 failed');
  expect(await tagsOf('tree/a')).toEqual(['ops']);
});

describe('mv keeps role tags', () => {
  beforeAll(async () => {
    const made = await user.line(
      'cloud stor mkdir -p team/secret/in team/open && cloud stor put -q tree/one team/only && cloud stor put -q tree/one plain && cloud stor put -q tree/one team/secret/x && cloud stor put -q tree/one team/secret/in/y',
    );
    if (made.code !== 0) throw new Error(made.stderr);
    for (const path of ['team/only', 'team/secret', 'team/secret/in/y']) await user.json('stor', 'roles', 'set', path, 'ops');
    for (const path of ['team', 'team/secret/in']) await user.json('stor', 'roles', 'set', path, 'dev');
  });

  test('of an object, which its directory would tag otherwise', async () => {
    expect(await user.here(['stor', 'mv', '-q', 'team/only', 'team/renamed'])).toMatchObject({ code: 0, stderr: '' });
    expect(await user.here(['stor', 'mv', '-q', 'plain', 'team'])).toMatchObject({ code: 0, stderr: '' });
    expect([await tagsOf('team/renamed'), await tagsOf('team/plain')]).toEqual([['ops'], []]);
  });

  test('of a directory and everything in it', async () => {
    expect(await user.here(['stor', 'mv', '-q', 'team/secret', 'team/moved'])).toMatchObject({ code: 0, stderr: '' });
    const paths = ['', '/in', '/in/y', '/x'].map((path) => `team/moved${path}`);
    expect(await Promise.all(paths.map(tagsOf))).toEqual([['ops'], ['dev'], ['ops'], []]);
  });

  test('and warns where the caller may not set them', async () => {
    await user.here(['local', 'faults', 'add', 'putsnaplink', '403', '--count', '1']);
    const { code, stderr } = await user.here(['stor', 'mv', '-q', 'team/renamed', 'team/open/renamed']);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(
        '/demo/stor/team/open/renamed does not have the role tags of /demo/stor/team/renamed (ops): you may not set them',
      ),
    ]);
    expect(await tagsOf('team/open/renamed')).toEqual([]);
  });
});

describe('backups and snapshots are not more readable than what they keep', () => {
  const tag = (path: string, ...roles: string[]): Promise<unknown> => user.json('stor', 'roles', 'set', path, ...roles);

  test('--backup-dir keeps role tags of objects and directories', async () => {
    await user.line(
      'mkdir -p kept/secret && echo 1 > kept/secret/s && echo 1 > kept/open && cloud stor put -q -r -T kept kept && cloud stor mkdir -q old',
    );
    await tag('old', 'dev');
    await tag('kept/secret', 'ops');
    await tag('kept/secret/s', 'ops');
    await user.line('echo two > kept/secret/s; echo two > kept/open');
    expect(await user.here(['stor', 'sync', 'kept', 'stor:kept', '--backup-dir', 'stor:old', '-q'])).toMatchObject({ code: 0, stderr: '' });
    await user.line('echo three > kept/secret/s');
    expect(await user.here(['stor', 'put', '-qrT', 'kept', 'kept', '--backup-dir', 'old'])).toMatchObject({ code: 0, stderr: '' });
    const paths = ['secret', 'secret/s', 'secret/s.~1~', 'open'].map((path) => `old/${path}`);
    expect(await Promise.all(paths.map(tagsOf))).toEqual([['ops'], ['ops'], ['ops'], []]);
  });

  test('a snapshot keeps role tags, and restore brings them back with what is missing', async () => {
    await user.line(
      'mkdir -p shot/secret && echo 1 > shot/secret/s && echo 1 > shot/open && echo 1 > shot/there && cloud stor put -q -r -T shot shot',
    );
    for (const path of ['shot', 'shot/there']) await tag(path, 'dev');
    for (const path of ['shot/secret', 'shot/secret/s']) await tag(path, 'ops');
    expect(await user.here(['stor', 'snapshot', 'create', 'shot@one', '-q'])).toMatchObject({ code: 0, stderr: '' });
    const found = await user.json<{ path: string }[]>('stor', 'find', '.snapshots/stor%2Fshot/trees', '--literal');
    const [, root = '', ...links] = found.map(({ path }) => path);
    const tags = await Promise.all(links.map(async (path) => [path.split('/').at(-1), ...(await tagsOf(path))].join(' ')));
    expect([await tagsOf(root), tags.toSorted()]).toEqual([['dev'], ['open', 's ops', 'secret ops', 'there dev']]);
    await user.here(['stor', 'rm', '-ryq', 'shot/secret', 'shot/open']);
    await user.here(['stor', 'put', '-q', '-', 'shot/there'], { input: 'changed' });
    await tag('shot/there', 'ops');
    expect(await user.here(['stor', 'snapshot', 'restore', 'shot@one', '-q'])).toMatchObject({ code: 0, stderr: '' });
    const paths = ['', '/secret', '/secret/s', '/open', '/there'].map((path) => `shot${path}`);
    expect(await Promise.all(paths.map(tagsOf))).toEqual([['dev'], ['ops'], ['ops'], [], ['ops']]);
    await user.here(['stor', 'rm', '-ryq', 'shot']);
    expect(await user.here(['stor', 'snapshot', 'restore', 'shot@one', '-q'])).toMatchObject({ code: 0, stderr: '' });
    expect(await Promise.all(paths.map(tagsOf))).toEqual([['dev'], ['ops'], ['ops'], [], ['dev']]);
  });
});

test('a collection is tagged with its members', async () => {
  await user.here(['users', 'create', 'alice', '--email', 'a@example.com', '--password-stdin', '--wait'], { input: 'open sesame 1' });
  const names = (tagged: readonly { name: string; 'role-tag': string[] }[]): string[] =>
    tagged.map(({ name, 'role-tag': tags }) => `${name} ${tags.join('+')}`);
  const all = ['/demo/users dev', '/demo/users/alice dev', '/demo/users/alice/keys dev'];
  expect(names(await user.json('roles', 'tags', 'set', '-r', '-n', 'users', 'dev'))).toEqual(all);
  expect(await user.json('roles', 'tags', 'get', 'users')).toMatchObject({ 'role-tag': [] });
  expect(names(await user.json('roles', 'tags', 'set', '--recursive', 'users', 'dev'))).toEqual(all);
  for (const path of ['users', 'users/alice', 'users/alice/keys'])
    expect(await user.json('roles', 'tags', 'get', path)).toMatchObject({ 'role-tag': ['dev'] });
  const unknown = await user.here(['roles', 'tags', 'set', '-r', 'users', 'norole']);
  expect([unknown.code === 0, unknown.stderr]).toEqual([false, expect.stringContaining('3 of 3 failed')]);
  expect(await user.json('roles', 'tags', 'set', '-n', 'keys', 'dev')).toEqual([{ name: '/demo/keys', 'role-tag': ['dev'] }]);
  expect(await user.json('roles', 'tags', 'get', 'keys')).toMatchObject({ 'role-tag': [] });
});
