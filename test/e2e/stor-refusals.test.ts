import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
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
