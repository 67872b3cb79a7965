import { beforeEach, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** `--include`, `--exclude` and `--exclude-from` of rm -r, du and find: what is excluded stays out, whatever is included. */

const user = useShared('--http');
const files = ['a.gz', 'b.tmp', 'cache/c.gz', 'cache/deep/d.gz', 'keep.gz', 'only/e.gz', 'sub/f.gz', 'sub/keep.gz', 'sub/more/g.gz'];

async function run(...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return await user.here(['stor', ...words]);
}

/** What is below `t`, as `find` lists it with these options. */
async function list(...words: string[]): Promise<string[]> {
  const { stdout } = await run('find', 't', '-o', 'name', ...words);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((path) => path.replace(/^\/demo\/stor\/t\/?/, ''));
}

beforeEach(async () => {
  for (const name of files) user.write(`tree/${name}`, 'four');
  await run('rm', '-ryf', 't', '-q');
  await run('put', '-r', '-T', 'tree', 't', '-q');
  await run('mkdir', 't/empty', '-q');
});

test('what is excluded survives rm -r, whatever is included, and so do the directories that it is in', async () => {
  user.write('rules', '\ufeffkeep.gz\r\n# comment\r\ncache/\r\n');
  const kept = ['cache', 'cache/c.gz', 'cache/deep', 'cache/deep/d.gz', 'keep.gz', 'sub', 'sub/keep.gz'];
  const forms = [
    ['--exclude', 'keep.gz', '--exclude', 'cache/'],
    ['--exclude-from', 'rules'],
    ['--exclude', './keep.gz', '--exclude', '/sub/keep.gz', '--exclude', './cache'],
    ['--include', '*', '--include', 'keep.gz', '--include', 'cache/**', '--include', '/sub/keep.gz', '--exclude-from', 'rules'],
  ];
  for (const form of forms) {
    const removed = await run('rm', '-ry', 't', ...form, '-o', 'jsonl');
    const entries = form[0] === '--include' ? 7 : 8;
    expect([removed.code, removed.stdout]).toEqual([0, `{"path":"/demo/stor/t","type":"directory","entries":${entries},"remains":true}\n`]);
    // An empty directory has no file that could have been chosen.
    expect(await list()).toEqual(['', ...kept, ...(form[0] === '--include' ? ['empty'] : [])].toSorted());
    await run('put', '-r', '-T', 'tree', 't', '-q');
    await run('mkdir', 't/empty', '-q');
  }
});

test('a dry run, find and du choose what rm -r removes', async () => {
  const wanted = ['a.gz', 'only/e.gz', 'sub/f.gz', 'sub/more/g.gz'];
  const filter = ['--include', '*.gz', '--exclude', 'keep*', '--exclude', 'cache'];
  expect(await list(...filter)).toEqual(wanted);
  expect(await user.json('stor', 'du', 't', ...filter)).toEqual([
    { size: 4, objects: 1, directories: 1, path: '/demo/stor/t/only' },
    { size: 8, objects: 2, directories: 2, path: '/demo/stor/t/sub' },
    { size: 16, objects: 4, directories: 3, path: '/demo/stor/t' },
  ]);
  const planned = await user.json<{ to: string }[]>('stor', 'rm', '-r', 't', '-n', ...filter);
  expect(planned.map(({ to }) => to.slice('/demo/stor/t/'.length))).toEqual([
    'a.gz',
    'only/e.gz',
    'only',
    'sub/f.gz',
    'sub/more/g.gz',
    'sub/more',
  ]);
  expect(await list('--type', 'f')).toEqual(files);
  const done = await run('rm', '-ry', 't', ...filter);
  expect([done.code, done.stderr]).toEqual([0, 'Deleted 6 entries in /demo/stor/t\n']);
  expect(await list('--type', 'f')).toEqual(files.filter((name) => !wanted.includes(name)));
  expect((await run('rm', '-ry', 't', ...filter)).stderr).toBe('Nothing to delete in /demo/stor/t\n');
  expect(await list('--exclude', 'cache/', '--exclude', '*.tmp')).toEqual(['', 'empty', 'keep.gz', 'sub', 'sub/keep.gz']);
  expect((await run('rm', '-ry', 't', '--exclude', 'nothing')).stderr).toBe('Deleted /demo/stor/t (10 entries)\n');
});

test('a path that is named itself is left out by its name; find --delete keeps directories of what is excluded', async () => {
  const named = await run('rm', '-ry', '--glob', 't/*', '--exclude', 'cache/', '--exclude', 'keep.gz');
  expect([named.code, named.stderr]).toEqual([0, expect.stringContaining('Skipped /demo/stor/t/cache\nSkipped /demo/stor/t/keep.gz\n')]);
  expect(await list('--type', 'f')).toEqual(['cache/c.gz', 'cache/deep/d.gz', 'keep.gz', 'sub/keep.gz']);
  expect(await user.json('stor', 'du', 't/cache', 't/keep.gz', '--exclude', 'cache')).toMatchObject([{ path: '/demo/stor/t/keep.gz' }]);
  // Your own directory is not named where no path is.
  expect(await user.json('stor', 'du', '-d', '0', '--exclude', 'stor')).toHaveLength(1);
  const found = await run('find', 't/cache', 't/keep.gz', 't/sub', '--delete', '-y', '--exclude', 'd.gz', '--exclude', 'keep.gz');
  expect([found.code, found.stderr]).toEqual([0, 'Deleted /demo/stor/t/cache/c.gz\n']);
  expect((await run('find', 't', '--delete', '-y', '--include', '*.gz', '--exclude', 'keep.gz', '-q')).code).toBe(0);
  expect(await list()).toEqual(['', 'cache', 'cache/deep', 'keep.gz', 'sub', 'sub/keep.gz']);
});

test('a filter that would not leave out what was meant deletes nothing', async () => {
  user.write('latin', Buffer.from('caf\u00e9.gz\n', 'latin1'));
  const refused: [words: string[], message: string][] = [
    [['--exclude', ''], '--exclude: the value is empty'],
    [['--exclude', './'], '--exclude has an empty pattern'],
    [['--include', '/'], '--include has an empty pattern'],
    [['--exclude', '[z-a]'], 'is not a pattern'],
    [['--exclude-from', 'latin'], '--exclude-from latin, line 1: not UTF-8'],
    [['--exclude-from', 'absent'], 'absent: '],
    [['--exclude-from', '-', '--paths-from', '-'], 'cannot both read stdin'],
  ];
  for (const [words, message] of refused)
    expect(await run('rm', '-ry', 't', ...words)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  expect((await run('rm', '-y', 't/a.gz', '--exclude', 'a.gz')).stderr).toContain('hint: add -r');
  expect(await list('--type', 'f')).toEqual(files);
});
