import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

const user = useShared();

async function run(...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return await user.here(['stor', ...words]);
}

test('cp copies to, from and within the object storage, also trees, stdin and stdout', async () => {
  user.write('here/x', 'content');
  user.write('tree/sub/y', 'deep');
  expect(await run('cp', 'here/x', 'stor:y', '--type', 'text/x-odd')).toMatchObject({ code: 0, stderr: 'here/x -> /demo/stor/y\n' });
  expect(await user.json('stor', 'stat', 'y')).toMatchObject({ contentType: 'text/x-odd' });
  expect(await run('cp', 'stor:y', 'z')).toMatchObject({ code: 0 });
  expect(readFileSync(join(user.home, 'z'), 'utf8')).toBe('content');
  expect(await run('cp', 'stor:y', 'stor:copy')).toMatchObject({ code: 0, stderr: '/demo/stor/y -> /demo/stor/copy\n' });
  expect(await run('cp', 'copy', 'again')).toMatchObject({ code: 0, stderr: '/demo/stor/copy -> /demo/stor/again\n' });
  expect(await run('cp', '-r', 'tree', 'stor:tree')).toMatchObject({ code: 0 });
  expect(await run('cp', '-r', 'stor:tree', 'back')).toMatchObject({ code: 0 });
  expect(readFileSync(join(user.home, 'back/sub/y'), 'utf8')).toBe('deep');
  mkdirSync(join(user.home, 'into'));
  expect(await run('cp', 'stor:y', '~~/stor/copy', 'into')).toMatchObject({ code: 0 });
  expect(readFileSync(join(user.home, 'into/copy'), 'utf8')).toBe('content');
  expect((await user.cloud(['stor', 'cp', '-', 'stor:piped'], { input: 'from stdin' })).code).toBe(0);
  expect(await run('cp', 'stor:piped', '-')).toMatchObject({ code: 0, stdout: 'from stdin' });
  expect(await run('cp', '-p', 'stor:y', 'made/deep/y')).toMatchObject({ code: 0 });
  expect(existsSync(join(user.home, 'made/deep/y'))).toBe(true);
});

test('a copy, move or link that means another side names the line to type', async () => {
  user.write('only/here', 'content');
  const refused: [words: string[], code: number, hint: string][] = [
    [['cp', 'only/here', 'd/'], 3, 'to copy the local file: cloud stor cp only/here stor:d/'],
    [['cp', 'only', 'd'], 3, 'to copy the local file: cloud stor cp -r only stor:d'],
    [['cp', 'stor:a', 'only/here', 'stor:d/'], 2, 'cloud stor cp stor:a stor:d/'],
    [['mv', 'only/here', 'stor:k'], 2, 'cloud stor mv stor:only/here stor:k'],
    [['ln', 'stor:y', 'k'], 2, 'cloud stor ln stor:y stor:k'],
  ];
  for (const [words, code, hint] of refused) {
    const shown = await run(...words);
    expect([shown.code, shown.stderr]).toEqual([code, expect.stringContaining(`\nhint: ${hint}`)]);
  }
});

test('--no-clobber is no failure; dry runs and changes are records where a form is asked for', async () => {
  user.write('f', 'new');
  user.write('g', 'local');
  await user.here(['stor', 'put', '-', 'there'], { input: 'old' });
  for (const words of [
    ['put', 'f', 'there'],
    ['get', 'there', 'g'],
    ['cp', 'there', 'there2'],
    ['cp', 'there', 'there2'],
    ['cp', 'f', 'stor:there'],
  ])
    expect(await run(...words, '--no-clobber')).toMatchObject({ code: 0 });
  expect([readFileSync(join(user.home, 'g'), 'utf8'), (await run('cat', 'there')).stdout]).toEqual(['local', 'old']);
  expect(await user.json('stor', 'put', 'f', 'there', '-n')).toEqual([{ action: 'store', from: 'f', to: '/demo/stor/there' }]);
  expect(await user.json('stor', 'put', 'f', 'there', '-n', '--no-clobber')).toMatchObject([{ action: 'skip' }]);
  expect(await user.json('stor', 'get', 'there', 'h', '-n')).toMatchObject([{ action: 'write', to: join(user.home, 'h') }]);
  expect(await user.json('stor', 'mv', 'there', 'moved', '-n')).toMatchObject([{ action: 'move', to: '/demo/stor/moved' }]);
  expect(await user.json('stor', 'mkdir', 'dir')).toEqual([{ path: '/demo/stor/dir', made: true }]);
  expect(await user.json('stor', 'rm', 'there', '-n')).toEqual([{ action: 'delete', to: '/demo/stor/there' }]);
  const some = await run('rm', 'there', 'absent', '-y', '-o', 'jsonl');
  expect([some.code, some.stdout]).toEqual([5, '{"path":"/demo/stor/there","type":"object","entries":1}\n']);
  await user.here(['users', 'create', 'joe', '--email', 'a@b.c', '--password-stdin'], { input: 'Secret-word-1' });
  expect(await user.json('users', 'delete', 'joe', '-n')).toMatchObject([{ label: 'joe' }]);
  const users = await user.here(['users', 'delete', 'joe', 'absent', '-y', '-o', 'jsonl']);
  expect([users.code, users.stdout]).toEqual([5, expect.stringMatching(/^\{"id":"[\da-f-]{36}","label":"joe"\}\n$/)]);
});

test('filters mean the same for every copy of a tree, and leave no empty directories; cat reads ranges', async () => {
  for (const name of ['keep.txt', 'no.tmp', 'deep/keep.txt', 'deep/no.tmp', 'cache/keep.txt', 'only/no.tmp'])
    user.write(`mixed/${name}`, name);
  user.write('rules', '# comment\n\n*.tmp\ncache/\n');
  const list = async (path: string): Promise<string> =>
    (await run('find', path, '--type', 'f', '-o', 'name')).stdout.replaceAll(`/demo/stor/${path}/`, '');
  await run('put', '-r', 'mixed', 'all', '-q');
  expect((await run('put', '-r', 'mixed', 'put', '--exclude-from', 'rules', '-q')).code).toBe(0);
  expect((await run('cp', '-r', 'mixed', 'stor:up', '--exclude-from', 'rules', '-q')).code).toBe(0);
  expect((await run('cp', '-r', 'stor:all', 'stor:within', '--exclude', '*.tmp', '--exclude', 'cache/', '-q')).code).toBe(0);
  for (const path of ['put', 'up', 'within']) expect(await list(path)).toBe('deep/keep.txt\nkeep.txt\n');
  expect((await run('get', '-r', 'all', 'down', '--include', '*.tmp', '--exclude', 'deep', '-q')).code).toBe(0);
  expect((await user.shell('find down | sort')).stdout).toBe('down\ndown/no.tmp\ndown/only\ndown/only/no.tmp\n');
  expect((await run('put', 'rules', 'one', '--exclude', '*.tmp')).stderr).toContain('hint: add -r');
  await user.here(['stor', 'put', '-', 'digits'], { input: '0123456789' });
  for (const [range, expected] of [
    ['0-2', '012'],
    ['7-', '789'],
    ['-1', '9'],
  ] as const)
    expect((await run('cat', 'digits', '--range', range)).stdout).toBe(expected);
  expect((await run('cat', 'digits', '--range', '7-99')).stdout).toBe('789');
  for (const [range, message] of [
    ['first', '"first" is not a range'],
    ['-', '"-" is not a range'],
    ['7-3', '"7-3" ends before it begins'],
    ['0-99999999999999999999', 'no object has 99999999999999999999 bytes'],
  ] as const)
    expect(await run('cat', 'digits', '--range', range)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
  expect(await run('cat', 'all', '--range', '0-1')).toMatchObject({ code: 2, stderr: expect.stringContaining('is a directory') });
});
