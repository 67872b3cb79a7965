import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { useShared } from '../support/shared-service.ts';

/** Refusals that must not be taken for something else. */

const user = useShared('--http');

test('a directory that is full is a failure, not an object that is there already', async () => {
  user.write('few/a', 'a');
  await user.json('local', 'faults', 'add', 'putobject', '409:DirectoryLimitExceeded', '--count', '3');
  const one = await user.here(['stor', 'put', 'few/a', 'a', '--no-clobber']);
  expect([one.code, one.stderr.includes('DirectoryLimitExceeded'), one.stderr.includes('exists')]).toEqual([1, true, false]);
  const tree = await user.here(['stor', 'put', '-r', 'few', 'few', '--no-clobber']);
  expect([tree.code, tree.stderr.includes('DirectoryLimitExceeded')]).toEqual([5, true]);
  const synced = await user.here(['stor', 'sync', 'few', 'stor:few']);
  expect([synced.code, synced.stderr.includes('DirectoryLimitExceeded')]).toEqual([1, true]);
});

test('what is excluded is no failure, whatever it is; in the target it stays and ends nothing', async () => {
  await user.shell('mkdir -p mixed/d; echo 1 > mixed/a; ln -s d mixed/folder; ln -s nowhere mixed/dangling; mkfifo mixed/fifo');
  const all = await user.here(['stor', 'sync', 'mixed', 'stor:mixed']);
  expect([all.code, all.stderr.includes('fifo is neither'), all.stderr.includes('1 link is dangling')]).toEqual([5, true, true]);
  await user.line('echo 2 > extra; cloud stor put -q extra mixed/extra');
  const excluded = ['--exclude', 'folder', '--exclude', 'dangling', '--exclude', 'fifo'];
  const chosen = await user.here(['stor', 'sync', 'mixed', 'stor:mixed', '--delete', '--yes', ...excluded]);
  expect([chosen.code, chosen.stderr]).toEqual([0, '']);
  expect((await user.here(['stor', 'stat', 'mixed/extra'])).code).toBe(3);
  await user.line('cloud stor put -q extra mixed/extra; cloud stor put -q extra mixed/dangling; cloud stor put -q extra mixed/fifo');
  const back = await user.here(['stor', 'sync', 'stor:mixed', 'mixed', '--delete', '--yes']);
  expect([back.code, back.stderr.includes('fifo')]).toEqual([5, true]);
  expect(existsSync(join(user.home, 'mixed/extra'))).toBe(true);
  expect(lstatSync(join(user.home, 'mixed/folder')).isSymbolicLink()).toBe(true);
  expect(lstatSync(join(user.home, 'mixed/dangling')).isSymbolicLink()).toBe(true);
  expect(lstatSync(join(user.home, 'mixed/fifo')).isFIFO()).toBe(true);
});

test('each tree that is removed is counted by itself', async () => {
  await user.line('cloud stor mkdir one two');
  for (const path of ['one/1', 'one/2', 'two/1', 'two/2']) await user.line(`cloud stor put -q extra ${path}`);
  const { stderr } = await user.here(['stor', 'rm', '-ry', 'one', 'two']);
  expect(stderr).toBe('Deleted /demo/stor/one (3 entries)\nDeleted /demo/stor/two (3 entries)\n');
});

test('what goes with a directory above it is removed with that, and is no failure', async () => {
  await user.line('cloud stor mkdir -p deep/a/b');
  const { code, stderr } = await user.here(['stor', 'rm', '-ry', '--glob', 'deep/**', 'deep/a']);
  expect([code, stderr]).toEqual([0, 'Deleted /demo/stor/deep/a (2 entries)\n']);
});

test.each(['sync stor:halves to', 'get -r halves to', 'get -r --tar halves', 'find halves few', 'rm -ry halves'])(
  'a directory that cannot be listed is named: %s',
  async (line) => {
    await user.line('cloud stor mkdir -p halves/one halves/two');
    const proxy = await startFaultProxy(
      user.local.storUrl,
      (method, _, target) => (method === 'GET' && /halves\/(?:one|two)\?/u.test(target) ? 'no response' : 'none'),
      1,
    );
    const { code, stderr } = await user.here(['stor', ...line.split(' '), '--stor-url', proxy.url, '--retries', '0', '-q']);
    await proxy.close();
    const named = stderr.match(/halves\/(?:one|two): 127\.0\.0\.1:\d+ closed the connection/gu) ?? [];
    expect([code === 0, named.length, stderr]).toEqual([false, 2, stderr]);
  },
);

describe('dry runs', () => {
  beforeAll(async () => {
    user.write('folder/a', '1');
    user.write('file', '2');
    await user.shell('tar cf folder.tar folder');
    await user.line('cloud stor mkdir -p dry/a dry/b; cloud stor put -q folder/a dry/a/a; cloud stor put -q file dry/b/a');
  });

  /** The names of all objects and of the files in the home directory. */
  async function listAll(): Promise<string[]> {
    return [...(await user.here(['stor', 'find', '-o', 'name'])).stdout.split('\n'), ...readdirSync(user.home)];
  }

  test.each([
    ['put missing new', 2, 'missing: no such file or directory'],
    ['put -r missing new', 2, 'missing: no such file or directory'],
    ['put folder new', 2, 'folder is a directory'],
    ['put missing file dry/', 5, '1 of 2 failed'],
    ['put file absent/new', 3, 'absent does not exist: create the directory first'],
    ['put -r folder absent/new', 3, 'absent does not exist: create the directory first'],
    ['put file dry/b/a/new', 1, 'dry/b/a is not a directory'],
    ['put -p file dry/b/a/new', 2, 'dry/b/a is an object, not a directory'],
    ['put file dry -T', 1, 'dry is a directory: an object cannot replace it'],
    ['put file dry -T --no-clobber', 1, 'dry is a directory: an object cannot replace it'],
    ['put file dry/b/a --if-match other', 1, 'dry/b/a does not match the conditions'],
    ['put --untar folder.tar absent/new', 3, 'absent does not exist: create the directory first'],
    ['rm -ry ~~/public', 2, 'it is a root directory of the account'],
    ['rm -ry stor:', 2, 'it is a root directory of the account'],
    ['rm -y dry/b', 1, 'dry/b is not empty'],
    ['rm -y absent dry/a', 1, '2 of 2 failed'],
    ['mv dry/a dry/b -T', 5, 'dry/b/a differs from /demo/stor/dry/a/a: both left alone'],
    ['mv dry/a absent/new', 3, 'cloud stor mv -p'],
    ['cp dry/a/a absent/new', 3, 'absent does not exist: create the directory first'],
    ['cp dry/a/a dry/b -T', 1, 'dry/b is a directory: an object cannot replace it'],
    ['put -r folder dry/none/c --include *', 3, 'dry/none/c: /demo/stor/dry/none does not exist: create the directory first'],
    ['cp -p dry/a/a dry/b/a/new', 2, 'dry/b/a is an object, not a directory'],
    ['cp dry/absent dry/b/a /demo/stor', 5, '1 of 2 failed'],
    ['get dry/a new', 2, 'dry/a is a directory'],
    ['get dry/a/a folder -T', 1, 'folder is a directory'],
    ['get dry/a/a missing/new', 1, 'missing/new: no such file or directory'],
    ['get -r dry/a file', 1, 'file exists but is not a directory'],
    ['get -r dry/a file/new', 1, 'file/new: not a directory'],
  ])('a dry run fails as the run does: %s', async (line, code, message) => {
    const before = await listAll();
    const words = ['stor', ...line.split(' ')];
    const dry = await user.here([...words, '-n']);
    expect([dry.code, dry.stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(await listAll()).toEqual(before);
    const run = await user.here(words);
    expect([run.code, run.stderr]).toEqual([code, expect.stringContaining(message)]);
  });

  test('a dry run goes on where the run would create directories first', async () => {
    for (const line of ['cp -p dry/b/a dry/new/', 'cp -rp dry/b dry/new/c', 'put -p file dry/new/', 'put -rp folder dry/new/c'])
      expect([line, (await user.here(['stor', ...line.split(' '), '-n'])).code]).toEqual([line, 0]);
    expect((await user.here(['stor', 'stat', 'dry/new'])).code).toBe(3);
  });
});
