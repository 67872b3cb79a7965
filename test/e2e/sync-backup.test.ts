import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');

const run = (...words: string[]) => user.here(['stor', ...words]);
const cat = async (path: string): Promise<string> => (await run('cat', path)).stdout;
const read = (file: string): string => readFileSync(join(user.home, file), 'utf8');
const list = async (path: string): Promise<string[]> =>
  (await user.json<{ path: string }[]>('stor', 'find', path, '--type', 'f')).map(({ path }) => path.replace('/demo/stor/', '')).toSorted();

test('up: what is replaced or deleted has a name in the backup directory, each version one of its own', async () => {
  user.write('up/changed', 'one');
  user.write('up/d/gone', 'gone');
  user.write('up/same', 'same');
  user.write('up/kind', 'a file');
  await run('sync', 'up', 'stor:up', '-q');
  const before = await user.json<{ etag: string }>('stor', 'stat', 'up/changed');
  user.write('up/changed', 'the second');
  rmSync(join(user.home, 'up/d/gone'));
  rmSync(join(user.home, 'up/kind'));
  user.write('up/kind/f', 'a directory now');
  const sync = ['sync', 'up', 'stor:up', '--delete', '--yes', '--backup-dir', 'stor:old/up', '-q'];
  const dry = await run(...sync, '-n');
  expect([dry.code, (await run('ls', 'old')).code]).toEqual([0, 3]);
  expect(await run(...sync)).toMatchObject({ code: 0, stderr: '' });
  expect(await list('old')).toEqual(['old/up/changed', 'old/up/d/gone', 'old/up/kind']);
  expect([await cat('old/up/changed'), await cat('old/up/d/gone'), await cat('old/up/kind'), await cat('up/changed')]).toEqual([
    'one',
    'gone',
    'a file',
    'the second',
  ]);
  // A link: no bytes moved.
  expect((await user.json<{ etag: string }>('stor', 'stat', 'old/up/changed')).etag).toBe(before.etag);
  user.write('up/changed', 'the third one');
  expect((await run(...sync)).code).toBe(0);
  expect([await cat('old/up/changed'), await cat('old/up/changed.~1~'), await cat('up/changed')]).toEqual([
    'one',
    'the second',
    'the third one',
  ]);
  expect((await run(...sync)).code).toBe(0);
  expect(await list('old')).toEqual(['old/up/changed', 'old/up/changed.~1~', 'old/up/d/gone', 'old/up/kind']);
});

test('down: files keep a second name before they are replaced or deleted', async () => {
  user.write('source/changed', 'new content');
  await run('put', '-r', '-T', 'source', 'down', '-q');
  user.write('down/changed', 'old');
  user.write('down/d/extra', 'extra');
  const inode = lstatSync(join(user.home, 'down/changed')).ino;
  const sync = ['sync', 'stor:down', 'down', '--delete', '--yes', '--backup-dir', 'kept', '-q'];
  expect(await run(...sync)).toMatchObject({ code: 0, stderr: '' });
  expect([read('kept/changed'), read('kept/d/extra'), read('down/changed'), existsSync(join(user.home, 'down/d'))]).toEqual([
    'old',
    'extra',
    'new content',
    false,
  ]);
  expect(lstatSync(join(user.home, 'kept/changed')).ino).toBe(inode);
  user.write('down/changed', 'edited here');
  expect((await run(...sync)).code).toBe(0);
  expect([read('kept/changed'), read('kept/changed.~1~'), read('down/changed')]).toEqual(['old', 'edited here', 'new content']);
});

test('what is replaced in the object storage by objects is kept too, and nothing is replaced that cannot be kept', async () => {
  user.write('one', 'one');
  user.write('two', 'two');
  await run('put', '-p', 'one', 'from/f', '-q');
  await run('put', '-p', 'two', 'to/f', '-q');
  expect((await run('sync', 'stor:from', 'stor:to', '--backup-dir', 'stor:backup', '-q')).code).toBe(0);
  expect([await cat('to/f'), await cat('backup/f')]).toEqual(['one', 'two']);
  // An object stands where a directory of the backup would be.
  await run('put', 'one', 'blocked', '-q');
  await run('put', 'two', 'to/f', '-q');
  const failed = await run('sync', 'stor:from', 'stor:to', '--backup-dir', 'stor:blocked', '--checksum', '-q');
  expect([failed.code, await cat('to/f')]).toEqual([2, 'two']);
  mkdirSync(join(user.home, 'elsewhere'));
  mkdirSync(join(user.home, 'links'));
  user.write('down/d/f', 'kept here');
  await run('mkdir', '-p', 'down/d');
  await run('put', 'one', 'down/d/f', '-q');
  symlinkSync(join(user.home, 'elsewhere'), join(user.home, 'links/d'));
  const led = await run('sync', 'stor:down', 'down', '--backup-dir', 'links', '--checksum', '-q');
  expect([led.code, read('down/d/f'), existsSync(join(user.home, 'elsewhere/f'))]).toEqual([5, 'kept here', false]);
});

test('a backup directory that is synced itself, or at the other side, is refused before anything is done', async () => {
  symlinkSync(join(user.home, 'up'), join(user.home, 'way'));
  for (const [words, message] of [
    [['up', 'stor:up', '--backup-dir', 'stor:up/old'], 'is inside a synced directory'],
    [['up', 'stor:up', '--backup-dir', 'stor:up'], 'is inside a synced directory'],
    [['up', 'stor:up', '--backup-dir', 'stor:'], 'contains the target'],
    [['up', 'stor:up', '--backup-dir', 'old'], 'is not on the same side as the target'],
    [['stor:up', 'up', '--backup-dir', 'stor:old'], 'is not on the same side as the target'],
    [['stor:up', 'up', '--backup-dir', 'way/old'], 'is inside a synced directory'],
    [['stor:down', 'stor:up', '--backup-dir', 'stor:down/old'], 'is inside a synced directory'],
    [['up', 'stor:up', '--backup-dir', 'stor:old', '--plan', '-'], 'cannot be combined'],
  ] as const) {
    for (const dry of [[], ['--dry-run']]) {
      const { code, stderr } = await run('sync', ...words, ...dry);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
  }
  user.write('up/changed', 'the fourth one, which is longer');
  expect((await run('sync', 'up', 'stor:up', '--delete', '--yes', '--backup-dir', 'stor:up/.old', '--exclude', '/.old/', '-q')).code).toBe(
    0,
  );
  expect(await cat('up/.old/changed')).toBe('the third one');
});
