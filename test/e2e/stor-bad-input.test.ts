import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** Bad input of the storage commands: one line that says what is wrong, at most one hint, and nothing changed. */

const user = useShared('--http');
const longName = 'y'.repeat(300);

beforeAll(async () => {
  user.write('folder/f', 'another');
  user.write('f', 'content');
  await user.here(['stor', 'mkdir', '-p', 'd/e', 'names', '-q']);
  await user.here(['stor', 'put', 'f', 'd/object', '-q']);
  await user.here(['stor', 'put', 'f', `names/${longName}`, '-q']);
  await user.here(['stor', 'put', '-q', '--', 'f', 'names/-dash']);
  await user.here(['stor', 'put', 'f', 'names/..ok', '-q']);
});

/** A command, its exit code, and what its message says. */
const refused: readonly [words: string, code: number, message: string][] = [
  ['put f d/../x', 2, '"." and ".." are not names'],
  ['put f d/..', 2, '"." and ".." are not names'],
  ['rm -y d/..', 2, '"." and ".." are not names'],
  ['put f d/e/missing/x', 3, 'd/e/missing does not exist'],
  ['put folder d/x', 2, 'folder is a directory'],
  ['put f/x d/x', 2, 'f/x'],
  ['put f d/object --copies 7', 2, '--copies: "7" is not a whole number from 1 to 6'],
  ['put f d/object --copies 0', 2, '--copies: "0" is not a whole number from 1 to 6'],
  ['put f d/object --part-size 1M', 2, 'at least 5 MiB'],
  ['put f d/object --no-clobber --if-match e', 2, 'cannot be combined'],
  ['put f f d --if-match e', 2, 'for one file'],
  ['put f d/object --if-modified-since yesterday', 2, 'neither a date nor a duration'],
  ['put -r folder d --if-modified-since 1h', 2, 'not to trees'],
  ['put f folder/f d', 2, 'f and folder/f would both become /demo/stor/d/f'],
  ['put f d/object -P 0', 2, '"0" is not a whole number from 1 to 256'],
  ['put f d/object --bwlimit 0', 2, 'nothing can be sent'],
  ['get d out', 2, 'd is a directory'],
  ['get d/object folder/none/', 2, 'no such directory'],
  ['get d/object names/..ok both', 2, 'no such directory'],
  ['get d/object out --continue --no-clobber', 2, 'cannot be combined'],
  ['get -r d -', 2, 'a tree cannot be written to stdout'],
  ['cp d/object d/e/missing/x', 3, 'does not exist'],
  ['ln d/e d/link', 2, 'only objects can be linked'],
  ['mv -T d/e d', 2, 'd/e cannot replace /demo/stor/d'],
  ['cp -rT d/e d', 2, 'd/e cannot replace /demo/stor/d'],
  ['mv d/nothing d/x', 3, 'd/nothing does not exist'],
  ['ls d/nothing', 3, 'd/nothing does not exist'],
  ['mkdir d/object', 2, 'is an object, not a directory'],
  ['sync folder folder', 2, 'both directories are local'],
  ['sync  stor:d', 2, 'a path is empty'],
  ['sync stor:d  --delete', 2, 'a path is empty'],
  ['get d/object ', 2, 'a path is empty'],
  ['put f d/object --header x-foo:bar', 2, 'services do not store x-foo'],
  ['put f d/object --header content-length:1', 2, 'services do not store content-length'],
  ['put f d/object --header access-control-foo:bar', 2, 'services do not store access-control-foo'],
  ['meta set d/object --header authorization:x', 2, 'services do not store authorization'],
  ['run nofile', 2, 'nofile: no such file'],
  ['run folder', 2, 'is a directory, not a plan'],
  ['stat d/object --role nobody', 1, 'InvalidRole'],
  ['stat d/object --user nobody', 4, 'UserDoesNotExist'],
];

test('bad input is refused in one line, and nothing is changed', async () => {
  const before = await user.json('stor', 'find', 'd');
  const ask = async ([words]: (typeof refused)[number]) => await user.here(['stor', ...words.split(' ')]);
  const outcomes = [];
  for (let at = 0; at < refused.length; at += 4) outcomes.push(...(await Promise.all(refused.slice(at, at + 4).map(ask))));
  for (const [at, { code, stdout, stderr }] of outcomes.entries()) {
    const [words, expected, message] = refused[at] ?? ['', 0, ''];
    expect([words, code, stdout, stderr]).toEqual([words, expected, '', expect.stringContaining(message)]);
    const [first = '', second = 'hint: ', ...more] = stderr.trimEnd().split('\n');
    expect([words, first.startsWith('cloud stor '), second.startsWith('hint: '), more]).toEqual([words, true, true, []]);
  }
  expect(await user.json('stor', 'find', 'd')).toEqual(before);
  expect(readdirSync(user.home)).not.toContain('out');
});

test('a name that no local file can have is reported, and the others come', async () => {
  const { code, stderr } = await user.here(['stor', 'get', '-r', 'names', 'out', '-q']);
  expect([code, stderr]).toEqual([5, expect.stringContaining('the name is too long')]);
  expect(readdirSync(join(user.home, 'out')).toSorted()).toEqual(['-dash', '..ok']);
  expect(readFileSync(join(user.home, 'out/-dash'), 'utf8')).toBe('content');
  expect((await user.here(['stor', 'cat', `names/${longName}`])).stdout).toBe('content');
});
