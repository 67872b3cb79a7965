import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useShared } from '../support/shared-service.ts';
import { openTerminal } from '../support/terminal.ts';

/** Names of objects are names: what changes or removes takes them literally, what reads knows patterns. */

const user = useShared('--http');

/** Makes a directory with objects; the content of each is its name. */
async function fill(directory: string, ...names: string[]): Promise<void> {
  for (const name of names) user.write(`filled/${directory}/${name}`, name);
  expect(await user.here(['stor', 'put', '-r', '-T', `filled/${directory}`, directory, '-q'])).toMatchObject({ code: 0, stderr: '' });
}

async function list(directory: string): Promise<string[]> {
  return (await user.json<{ name: string }[]>('stor', 'ls', directory)).map(({ name }) => name);
}

const run = (...words: string[]) => user.here(['stor', ...words]);

describe('what removes or changes', () => {
  it('takes a name literally, also when its object is gone and others match it as a pattern', async () => {
    await fill('q1', 'a1.log', 'a[1].log');
    expect((await run('rm', '-y', 'q1/a[1].log')).code).toBe(0);
    const again = await run('rm', '-y', 'q1/a[1].log');
    expect(again.code).toBe(3);
    expect(again.stderr).toContain('does not exist');
    expect(again.stderr).toContain("cloud stor rm --glob '/demo/stor/q1/a[1].log'");
    expect(await list('q1')).toEqual(['a1.log']);
  });

  it('deletes an object named * and nothing else, twice in a command and in two commands', async () => {
    await fill('pat', '*', 'x', 'y');
    expect((await run('rm', '-y', 'pat/*', 'pat/*')).code).toBe(0);
    expect(await run('rm', '-y', 'pat/*')).toMatchObject({ code: 3 });
    expect(await list('pat')).toEqual(['x', 'y']);
  });

  it('moves and searches for deletion by name', async () => {
    await fill('moved', 'b1', 'b*');
    expect((await run('mv', 'moved/b[1]', 'moved/c')).code).toBe(3);
    expect((await run('mv', 'moved/b*', 'moved/c')).code).toBe(0);
    expect((await run('mv', 'moved/b*', 'moved/d')).code).toBe(3);
    expect((await run('find', 'moved/b*', '--delete', '-y')).code).toBe(3);
    expect(await list('moved')).toEqual(['b1', 'c']);
  });

  it('takes patterns with --glob: brackets, braces, and a backslash for one character', async () => {
    await fill('glob', 'a1', 'a2', 'a[1]', 'b1', 'c1', 'd*', 'd1');
    expect((await run('rm', '-y', '--glob', 'glob/a[1-9]')).code).toBe(0);
    expect(await list('glob')).toEqual(['a[1]', 'b1', 'c1', 'd*', 'd1']);
    expect((await run('rm', '-y', '--glob', 'glob/{b,c,nothing}?', 'glob/d\\*', 'glob/a\\[1\\]')).code).toBe(0);
    expect(await list('glob')).toEqual(['d1']);
    expect(await run('rm', '-y', '--glob', 'glob/*.gone')).toMatchObject({ code: 3 });
  });

  it('shows on a terminal how many a missing name would match, and the line to type', async () => {
    await fill('many', 'x1', 'x2', 'x3');
    const { code, text } = await openTerminal('cloud stor rm -y "many/x*"', { env: user.env, cwd: user.home, columns: 200 }).end();
    expect(code).toBe(3);
    expect(text).toContain("it matches 3 as a pattern: cloud stor rm --glob '/demo/stor/many/x*'");
    expect(await list('many')).toHaveLength(3);
  });

  it('rm counts a removed tree beside a path that is missing', async () => {
    await fill('counted', 'a', 'b');
    expect((await run('rm', '-yr', 'counted', 'missing')).stderr).toContain('1 of 2 failed');
  });

  it('rm --missing-ok takes what is gone for done; a hint names --paths-from for -', async () => {
    await fill('gone', 'a');
    expect(await run('rm', '-yf', 'gone/a', 'gone/b')).toMatchObject({ code: 0, stderr: 'Deleted /demo/stor/gone/a\n' });
    expect(await run('rm', '-y', '--missing-ok', 'gone/b', 'gone/c')).toMatchObject({ code: 0 });
    const dash = await run('rm', '-y', '-');
    expect(dash).toMatchObject({ code: 3 });
    expect(dash.stderr).toContain('--paths-from -');
    expect((await run('get', '-', '.')).stderr).toContain('--paths-from -');
  });

  it('never expands a pattern in a URL that stores or deletes', async () => {
    await fill('signed', 'a', 'b');
    const { stdout } = await run('sign', 'signed/*', '--method', 'DELETE');
    expect(stdout.trim().split('\n')).toHaveLength(1);
    expect(stdout).toContain('/demo/stor/signed/%2A?');
    expect((await run('sign', 'signed/*')).stdout.trim().split('\n')).toHaveLength(2);
  });
});

describe('what reads', () => {
  it('knows *, ? and **; brackets and braces are names without --glob', async () => {
    await fill('read', 'a1', 'a[1]', 'a2', '{a1,a2}');
    expect((await run('cat', 'read/a?')).stdout).toBe('a1a2');
    expect((await run('cat', 'read/a[1]')).stdout).toBe('a[1]');
    expect((await run('cat', 'read/{a1,a2}')).stdout).toBe('{a1,a2}');
    expect((await run('cat', 'read/a[2]')).code).toBe(3);
    expect((await run('cat', '--glob', 'read/a[12]')).stdout).toBe('a1a2');
    expect((await run('cat', '--glob', 'read/{a1,a2}')).stdout).toBe('a1a2');
    expect((await run('cat', '--glob', 'read/a\\[1\\]')).stdout).toBe('a[1]');
  });

  it('says on a terminal how a missing name with brackets is used as a pattern', async () => {
    await fill('hinted', 'f1', 'f2', 'f3');
    const type = (line: string) => openTerminal(line, { env: user.env, cwd: user.home, columns: 200 }).end();
    const { code, text } = await type('cloud stor cat "hinted/f[12]"');
    expect(code).toBe(3);
    const [, line = ''] = /hint: to use it as a pattern: (cloud .*)/.exec(text) ?? [];
    expect(line).toBe("cloud stor cat 'hinted/f[12]' --glob");
    expect(await type(line)).toMatchObject({ code: 0, text: 'f1f2' });
  });

  it('takes names as they are with --literal, and one character after a backslash', async () => {
    await fill('plain', 'x*', 'xy', 'x\\z');
    expect((await run('cat', 'plain/x\\*')).stdout).toBe('x*');
    expect((await run('cat', '--literal', 'plain/x\\z')).stdout).toBe('x\\z');
    await run('rm', '-y', 'plain/x*');
    expect((await run('cat', 'plain/x*')).stdout).toBe('x\\zxy');
    expect((await run('cat', '--literal', 'plain/x*')).code).toBe(3);
    expect((await run('cat', 'plain/x\\*')).code).toBe(3);
    expect((await run('cat', '--literal', '--glob', 'plain/x*')).code).toBe(2);
  });

  it('writes what a pattern matches into a directory only', async () => {
    await fill('into', 'only.txt');
    const { code, stderr } = await run('get', 'into/*.txt', 'target');
    expect([code, existsSync(join(user.home, 'target'))]).toEqual([2, false]);
    expect(stderr).toContain('mkdir target');
    expect((await run('cp', 'into/*.txt', 'into/copy')).code).toBe(2);
    mkdirSync(join(user.home, 'target'));
    expect((await run('get', 'into/*.txt', 'target')).code).toBe(0);
    expect(readFileSync(join(user.home, 'target/only.txt'), 'utf8')).toBe('only.txt');
    rmSync(join(user.home, 'target'), { recursive: true });
  });

  it('ls prints paths that the next command takes, for a pattern and for several', async () => {
    await fill('one', 'a', 'b');
    await fill('two', 'a');
    const both = '/demo/stor/one/a\n/demo/stor/one/b\n/demo/stor/two/a\n';
    expect((await run('ls', 'one', 'two', '-o', 'name')).stdout).toBe(both);
    expect((await run('ls', 't?o/a', '-o', 'name')).stdout).toBe('/demo/stor/two/a\n');
    expect((await run('ls', 'two/*', '-o', 'name')).stdout).toBe('/demo/stor/two/a\n');
    expect((await run('ls', 'one', '-o', 'name')).stdout).toBe('a\nb\n');
    expect((await run('ls', 'one', 'two', '-0')).stdout).toBe(both.replaceAll('\n', '\0'));
    const [first] = await user.json<{ path: string }[]>('stor', 'ls', 'one');
    expect(first?.path).toBe('/demo/stor/one/a');
    const { stdout } = await user.shell('cloud stor ls one two -o name | cloud stor rm -y --paths-from -; cloud stor ls one two -o name');
    expect(stdout).toBe('');
  });
});

describe('--paths-from', () => {
  const hostile = ['*', 'a[1]', 'a\\b', ' blank ', "it's", '"quoted"', '-dash', '{x,y}', '~~', 'stor:x'];

  it('takes lines, or what ends with NUL, as names', async () => {
    const bystanders = ['a1', 'ab', 'dash', 'x', 'y'];
    await fill('list', ...hostile, 'new\nline', ...bystanders);
    const lines = hostile.map((name) => `/demo/stor/list/${name}\n`).join('');
    expect((await run('stat', '--paths-from', user.write('paths', lines), '-o', 'name')).stdout).toBe(lines);
    mkdirSync(join(user.home, 'fetched'));
    expect((await user.here(['stor', 'get', '--paths-from', 'paths', 'fetched'])).code).toBe(0);
    expect(hostile.map((name) => readFileSync(join(user.home, 'fetched', name), 'utf8'))).toEqual(hostile);
    expect((await user.here(['stor', 'rm', '-y', '--paths-from', '-'], { input: lines })).code).toBe(0);
    expect((await user.here(['stor', 'rm', '-y', '--paths-from', '-'], { input: lines })).code).toBe(3);
    const nul = '/demo/stor/list/new\nline\0';
    expect((await user.here(['stor', 'rm', '-y', '--paths-from', '-'], { input: nul })).code).toBe(0);
    expect((await list('list')).toSorted()).toEqual(bystanders);
  });

  it('takes lines as editors on Windows write them, and refuses quoted names of ls -o name', async () => {
    await fill('win', 'a', 'b', 'tab\there');
    const listed = (await run('ls', 'win', '-o', 'name')).stdout;
    const refused = await user.here(['stor', 'rm', '-yf', '--paths-from', '-'], { input: listed });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('line 3: "tab\\there" is a quoted name')]);
    expect(refused.stderr).toContain('hint: terminate names with NUL');
    expect((await user.here(['stor', 'rm', '-y', '--paths-from', '-'], { input: '\uFEFFwin/a\r\nwin/b\r\n' })).code).toBe(0);
    expect((await user.shell('cloud stor find win --type f -0 | cloud stor rm -y --paths-from -')).code).toBe(0);
    expect(await list('win')).toEqual([]);
  });

  it('refuses bytes that are not text, and an empty list removes nothing', async () => {
    await fill('kept', 'a');
    const wrong = await user.here(['stor', 'rm', '-ry', '--paths-from', '-'], { input: Buffer.from([0x6b, 0xff, 0x0a]) });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--paths-from stdin, line 1: not UTF-8') });
    const empty = await user.here(['stor', 'rm', '-ry', '--paths-from', '-'], { input: '\n\n' });
    expect(empty).toMatchObject({ code: 0 });
    expect(await run('rm', '-y')).toMatchObject({ code: 2 });
    expect(await list('kept')).toEqual(['a']);
  });
});
