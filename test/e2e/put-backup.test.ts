import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** `stor put --backup-dir`: what is replaced keeps a name, and nothing else is replaced. */

const user = useShared('--http');

const run = (...words: string[]) => user.here(['stor', ...words]);
const cat = async (path: string): Promise<string> => (await run('cat', path)).stdout;
const list = async (path: string): Promise<string[]> =>
  (await user.json<{ path: string }[]>('stor', 'find', path, '--type', 'f'))
    .map(({ path: each }) => each.replace('/demo/stor/', ''))
    .toSorted();

test('of a tree, what is replaced keeps its path below the backup directory, each version a name of its own', async () => {
  user.write('site/a', 'one');
  user.write('site/d/b', 'one of d');
  await run('put', '-q', '-r', '-T', 'site', 'site');
  const before = await user.json<{ etag: string }>('stor', 'stat', 'site/a');
  user.write('site/a', 'two');
  user.write('site/new', 'new');
  const put = ['put', '-q', '-r', '-T', 'site', 'site', '--backup-dir', 'stor:old'];
  expect((await run(...put, '-n')).code).toBe(0);
  expect((await run('ls', 'old')).code).toBe(3);
  expect(await run(...put)).toMatchObject({ code: 0, stderr: '' });
  expect(await list('old')).toEqual(['old/a', 'old/d/b']);
  expect([await cat('old/a'), await cat('site/a'), await cat('site/new')]).toEqual(['one', 'two', 'new']);
  // A link: no bytes moved.
  expect((await user.json<{ etag: string }>('stor', 'stat', 'old/a')).etag).toBe(before.etag);
  user.write('site/a', 'three');
  expect((await run(...put)).code).toBe(0);
  expect([await cat('old/a'), await cat('old/a.~1~'), await cat('site/a')]).toEqual(['one', 'two', 'three']);
});

test('of files, by their names in the target directory', async () => {
  user.write('f', 'first');
  user.write('g', 'first of g');
  await run('mkdir', 'w');
  await run('put', '-q', 'f', 'g', 'w');
  user.write('f', 'second');
  expect((await run('put', '-q', 'f', 'g', 'w', '--backup-dir', 'w/old')).code).toBe(0);
  expect([await cat('w/old/f'), await cat('w/old/g'), await cat('w/f')]).toEqual(['first', 'first of g', 'second']);
  // From stdin, and over nothing.
  expect((await user.here(['stor', 'put', '-q', '-', 'w/f', '--backup-dir', 'w/old'], { input: 'third' })).code).toBe(0);
  expect([await cat('w/old/f.~1~'), await cat('w/f')]).toEqual(['second', 'third']);
  expect((await run('put', '-q', 'f', 'w/fresh', '--backup-dir', 'w/old')).code).toBe(0);
  expect(await list('w/old')).toEqual(['w/old/f', 'w/old/f.~1~', 'w/old/g']);
});

test('what cannot be kept is not replaced, and a condition that fails keeps nothing', async () => {
  user.write('f', 'mine');
  await run('put', '-q', 'f', 'theirs');
  await run('put', '-q', 'f', 'blocked');
  user.write('f', 'new');
  const failed = await run('put', '-q', 'f', 'theirs', '--backup-dir', 'blocked');
  expect([failed.code === 0, await cat('theirs')]).toEqual([false, 'mine']);
  const other = await run('put', '-q', 'f', 'theirs', '--backup-dir', 'kept', '--if-match', 'ffffffff-0000-0000-0000-000000000000');
  expect([other.code, await cat('theirs'), (await run('ls', 'kept')).code]).toEqual([1, 'mine', 3]);
});

test.each([
  [['-r', 'site', 'site', '-T', '--backup-dir', 'site/old'], 'is inside a stored tree'],
  [['-r', 'site', 'site', '-T', '--backup-dir', 'site'], 'is the target'],
  [['-r', 'site', 'deep/site', '-T', '--backup-dir', 'deep'], 'contains the target'],
  [['f', 'w/', '--backup-dir', 'w'], 'is the target'],
  [['f', 'w/f', '--backup-dir', 'w/f'], 'is inside a stored tree'],
  [['f', 'w/f', '--backup-dir', 'old', '--no-clobber'], 'cannot be combined'],
  [['--untar', 'f', 'w', '--backup-dir', 'old'], 'cannot be combined'],
])('%j is refused before anything is done', async (words, message) => {
  const refused = await run('put', ...words);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(message)]);
});
