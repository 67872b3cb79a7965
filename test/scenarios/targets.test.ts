import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Outcome } from '../support/sandbox.ts';
import { useShared } from '../support/shared-service.ts';

/** What is written to a name that is a link, a device or a descriptor goes through it, and the name stays what it is. */

const user = useShared('--http');
const small = 'small content\n';
const large = Buffer.alloc(1_500_000, 'large content\n');
let folder = '';
let number = 0;

const place = (name: string): string => join(folder, name);
const read = (name: string): string => readFileSync(place(name), 'utf8');
const run = (line: string): Promise<Outcome> => user.shell(line, { cwd: folder });
/** For lines that need no descriptor of their process. */
const runHere = (line: string): ReturnType<typeof user.line> => user.line(line, { cwd: folder });

/** What nothing that succeeds leaves beside a file. */
const leftovers = (path = folder): string[] => readdirSync(path).filter((name) => name.includes('.part') || name.startsWith('.cloud-'));

beforeAll(async () => {
  user.write('small', small);
  user.write('large', large);
  user.write('tree/a', 'in the tree\n');
  await user.line('cloud stor put -q small x && cloud stor put -q large large && cloud stor put -q -r tree tree');
});

beforeEach(() => {
  number += 1;
  folder = join(user.home, `case${number}`);
  mkdirSync(folder);
});

describe('a symbolic link', () => {
  test.each([
    ['x', small],
    ['large', large.toString()],
  ])('get %s l writes the file that l leads to, and l stays a link', async (object, content) => {
    mkdirSync(place('elsewhere'));
    writeFileSync(place('elsewhere/real'), 'old');
    symlinkSync('elsewhere/real', place('middle'));
    symlinkSync('middle', place('l'));
    expect(await runHere(`cloud stor get ${object} l`)).toMatchObject({ code: 0, stdout: '' });
    expect([readlinkSync(place('l')), readlinkSync(place('middle'))]).toEqual(['middle', 'elsewhere/real']);
    expect(lstatSync(place('elsewhere/real')).isFile()).toBe(true);
    expect(read('elsewhere/real')).toBe(content);
    expect([...leftovers(), ...leftovers(place('elsewhere'))]).toEqual([]);
  });

  test('that leads to nothing makes what it names', async () => {
    symlinkSync('new', place('l'));
    expect(await runHere('cloud stor get x l')).toMatchObject({ code: 0 });
    expect([readlinkSync(place('l')), read('new')]).toEqual(['new', small]);
  });

  test.each([
    ['a missing directory', 'none/new', 'l', /none\/new.*no such (file or )?directory/],
    ['itself', 'l', 'l', /l: .*too many (levels of )?symbolic links/],
    ['a file taken for a directory', 'file/new', 'l', /file\/new.*not a directory/],
  ])('that leads to %s is an error that says so, and stays', async (_, target, name, message) => {
    writeFileSync(place('file'), 'mine');
    symlinkSync(target, place(name));
    const { code, stderr } = await runHere('cloud stor get x l');
    expect([code === 0, stderr.trim().split('\n').length <= 2, readlinkSync(place('l')), read('file')]).toEqual([
      false,
      true,
      target,
      'mine',
    ]);
    expect(stderr).toMatch(message);
    expect(leftovers()).toEqual([]);
  });

  test('to a directory is the directory', async () => {
    mkdirSync(place('real'));
    symlinkSync('real', place('l'));
    expect(await runHere('cloud stor get x l')).toMatchObject({ code: 0 });
    expect([readlinkSync(place('l')), read('real/x')]).toEqual(['real', small]);
  });

  test('into a directory without permission names the real file', async () => {
    mkdirSync(place('closed'), { mode: 0o755 });
    writeFileSync(place('closed/real'), 'old', { mode: 0o644 });
    symlinkSync('closed/real', place('l'));
    const asRoot = process.getuid?.() === 0;
    // root may write everywhere: the disk forbids it then.
    const guard = asRoot ? 'unshare --mount sh -c \'mount --bind closed closed && mount -o remount,bind,ro closed && exec "$@"\' sh' : '';
    if (!asRoot) await run('chmod 555 closed');
    const { code, stderr } = await run(`${guard} cloud stor get x l`);
    if (!asRoot) await run('chmod 755 closed');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/closed\/real: (permission denied|the file system is read-only|read-only)/)]);
    expect([readlinkSync(place('l')), read('closed/real')]).toEqual(['closed/real', 'old']);
  });

  test('of somebody else in a directory that all can write to is not followed', async () => {
    if (process.getuid?.() !== 0) return;
    await run('chmod 1777 . && ln -s victim l && chown -h nobody l && echo mine > victim');
    const { code, stderr } = await runHere('cloud stor get x l');
    expect([code, stderr]).toEqual([1, expect.stringContaining('link of another user')]);
    expect([readlinkSync(place('l')), read('victim')]).toEqual(['victim', 'mine\n']);
  });

  test('is what sync --plan writes through too', async () => {
    symlinkSync('plan.jsonl', place('l'));
    expect(await runHere('cloud stor sync stor:tree tree --plan l -q')).toMatchObject({ code: 0 });
    expect([readlinkSync(place('l')), read('plan.jsonl')]).toEqual(['plan.jsonl', expect.stringContaining('"rel":"a"')]);
    expect(leftovers()).toEqual([]);
  });

  test('where completion --install writes stays one', async () => {
    mkdirSync(place('share/bash-completion/completions'), { recursive: true });
    mkdirSync(place('dotfiles'));
    symlinkSync('../../../dotfiles/cloud', place('share/bash-completion/completions/cloud'));
    await user.here(['completion', 'bash', '--install'], { cwd: folder, env: { XDG_DATA_HOME: place('share') } });
    // Else each bash whose stdin is a socket would load the script.
    rmSync(join(user.home, '.bashrc'), { force: true });
    expect(lstatSync(place('share/bash-completion/completions/cloud')).isSymbolicLink()).toBe(true);
    expect(read('dotfiles/cloud')).toContain('completion');
  });

  test('in a tree is neither followed nor replaced', async () => {
    mkdirSync(place('to/tree'), { recursive: true });
    writeFileSync(place('victim'), 'mine');
    symlinkSync('../../victim', place('to/tree/a'));
    const got = await runHere('cloud stor get -r tree to');
    expect([got.code, got.stderr]).toEqual([1, expect.stringContaining('tree/a is a symbolic link')]);
    const synced = await runHere('cloud stor sync stor:tree to/tree');
    expect([synced.code, synced.stderr]).toEqual([1, expect.stringContaining('tree/a is a symbolic link')]);
    expect([readlinkSync(place('to/tree/a')), read('victim')]).toEqual(['../../victim', 'mine']);
    expect(leftovers(place('to/tree'))).toEqual([]);
  });
});

describe('a descriptor', () => {
  const lines: readonly [name: string, line: string][] = [
    ['out -> /proc/self/fd/1', 'ln -s /proc/self/fd/1 out; cloud stor get OBJECT out > f'],
    ['out -> link -> /proc/self/fd/1', 'ln -s /proc/self/fd/1 link; ln -s link out; cloud stor get OBJECT out > f'],
    ['/dev/fd/3', 'cloud stor get OBJECT /dev/fd/3 3> f'],
    ['/dev/fd/3, a pipe', 'cloud stor get OBJECT /dev/fd/3 3> >(cat > f) && wait $!'],
    ['/proc/self/fd/1, a pipe', 'cloud stor get OBJECT /proc/self/fd/1 | cat > f'],
    ['a process substitution', 'cloud stor get OBJECT >(cat > f) && wait $!'],
  ];
  test.each(lines.flatMap(([name, line]) => ['x', 'large'].map((object) => [name, object, line] as const)))(
    '%s takes %s as a stream',
    async (_, object, line) => {
      const { code, stderr } = await run(line.replace('OBJECT', object));
      expect([code, stderr.includes('rror')]).toEqual([0, false]);
      expect(read('f') === (object === 'x' ? small : large.toString())).toBe(true);
      if (existsSync(place('out'))) expect(lstatSync(place('out')).isSymbolicLink()).toBe(true);
      expect(leftovers()).toEqual([]);
    },
  );

  test('goes on where others have written, and they go on after it', async () => {
    symlinkSync('/proc/self/fd/1', place('out'));
    const line = '{ echo head >&3; cloud stor get x /dev/fd/3; echo tail >&3; } 3> f; { echo head; cloud stor get x out; echo tail; } > g';
    expect(await run(line)).toMatchObject({ code: 0 });
    expect([read('f'), read('g')]).toEqual([`head\n${small}tail\n`, `head\n${small}tail\n`]);
    expect(await run('echo before > f; cloud stor get x out >> f; cloud stor get x /dev/fd/3 3>> f')).toMatchObject({ code: 0 });
    expect(read('f')).toBe(`before\n${small}${small}`);
  });

  test('takes the plan of sync', async () => {
    expect(await run('ln -s /proc/self/fd/1 out; cloud stor sync stor:tree tree --plan out > f')).toMatchObject({ code: 0 });
    expect(await run('cloud stor sync stor:tree tree --plan /dev/fd/3 3> g')).toMatchObject({ code: 0 });
    expect([read('f'), read('g') === read('f')]).toEqual([expect.stringContaining('"rel":"a"'), true]);
    expect(lstatSync(place('out')).isSymbolicLink()).toBe(true);
  });

  test('that is not open is an error that names it', async () => {
    const { code, stderr } = await run('cloud stor get x /dev/fd/97');
    expect([code, stderr]).toEqual([1, expect.stringContaining('/dev/fd/97')]);
  });
});

describe('a device', () => {
  test.each([
    ['null', '1 3', 0, ''],
    ['full', '1 7', 1, 'no space left'],
  ])('%s is written to, and stays', async (name, numbers, code, message) => {
    // Never the machine's own as root: a program that fails here would replace it for everybody.
    if (process.getuid?.() === 0) await run(`mknod device c ${numbers}`);
    else symlinkSync(`/dev/${name}`, place('device'));
    symlinkSync('device', place('out'));
    for (const target of ['device', 'out']) {
      const outcome = await run(`cloud stor get x ${target}`);
      expect([target, outcome.code, outcome.stderr]).toEqual([target, code, expect.stringContaining(message)]);
    }
    expect([readlinkSync(place('out')), statSync(place('device')).isCharacterDevice()]).toEqual(['device', true]);
    expect(leftovers()).toEqual([]);
  });
});

describe('directories that do not exist', () => {
  test.each(['get -p x', 'cp -p stor:x'])('%s creates them for an object that exists; a dry run only says so', async (line) => {
    const { code, stderr } = await runHere(`cloud stor ${line} new/deep/f -n`);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^Would write .* -> .*new\/deep\/f\n$/)]);
    expect((await runHere(`cloud stor ${line}nothing new/deep/f`)).code).toBe(3);
    expect(readdirSync(folder)).toEqual([]);
    expect(await runHere(`cloud stor ${line} new/deep/f`)).toMatchObject({ code: 0 });
    expect(read('new/deep/f')).toBe(small);
    expect(await runHere(`cloud stor ${line} other/`)).toMatchObject({ code: 0 });
    expect(read('other/x')).toBe(small);
  });

  test('a file in their place fails the dry run and the run', async () => {
    writeFileSync(place('file'), '');
    for (const option of ['-n', '-q']) expect((await runHere(`cloud stor get -p x file/below/f ${option}`)).code).toBe(1);
    expect(readdirSync(folder)).toEqual(['file']);
  });
});
