import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** What of a tree is left out on purpose is counted, is no failure, and is deleted nowhere. */

const user = useShared('--http');
let number = 0;
let folder = '';
let remote = '';

const place = (name: string): string => join(folder, name);
const run = (line: string) => user.line(line.replaceAll('REMOTE', remote), { cwd: folder });
const listThere = async (): Promise<string[]> =>
  (await user.json<{ path: string }[]>('stor', 'find', remote))
    .map(({ path }) => path.slice(`/demo/stor/${remote}`.length))
    .filter(Boolean)
    .toSorted();

beforeEach(() => {
  number += 1;
  remote = `r${number}`;
  folder = join(user.home, `case${number}`);
  mkdirSync(place('tree/d'), { recursive: true });
  writeFileSync(place('tree/a'), 'a');
  writeFileSync(place('tree/d/b'), 'b');
  writeFileSync(place('secret'), 'the private key');
});

describe('links', () => {
  beforeEach(() => {
    mkdirSync(place('other'));
    writeFileSync(place('other/c'), 'c');
    symlinkSync('../secret', place('tree/key'));
    symlinkSync(place('secret'), place('tree/d/whole'));
    symlinkSync('d/b', place('tree/inside'));
    symlinkSync('d', place('tree/twin'));
    symlinkSync('../other', place('tree/other'));
    symlinkSync('.', place('tree/loop'));
    symlinkSync('..', place('tree/d/up'));
    symlinkSync('nowhere', place('tree/dangling'));
  });

  const summary = (stderr: string): string[] =>
    stderr
      .split('\n')
      .filter((line) => /link/.test(line))
      .map((line) => line.replace(/ \(.*|:.*/u, ''))
      .toSorted();

  test.each([
    ['put -r', 'cloud stor put -r tree REMOTE'],
    ['sync', 'cloud stor sync tree stor:REMOTE'],
  ])('%s takes none that leads out of the tree, counts them, and ends well', async (_, line) => {
    const { code, stderr } = await run(line);
    expect([code, summary(stderr)]).toEqual([0, ['1 link is dangling', '3 links lead out of the tree', '3 links lead to directories']]);
    expect(await listThere()).toEqual(['/a', '/d', '/d/b', '/inside']);
    expect((await run('cloud stor cat REMOTE/inside')).stdout).toBe('b');
  });

  test.each(['cloud stor put -r tree REMOTE --links follow', 'cloud stor sync tree stor:REMOTE --links follow'])(
    '%s takes all but loops',
    async (line) => {
      const { code, stderr } = await run(line);
      expect([code, summary(stderr)]).toEqual([0, ['1 link is dangling', expect.stringMatching(/^\d links form loops$/u)]]);
      const there = await listThere();
      expect(there).toEqual(expect.arrayContaining(['/key', '/d/whole', '/inside', '/twin', '/twin/b', '/other', '/other/c']));
      expect(there.filter((path) => /loop|up/.test(path))).toEqual([]);
    },
  );

  test.each(['cloud stor put -r tree REMOTE --links skip', 'cloud stor sync tree stor:REMOTE --links skip'])(
    '%s takes none',
    async (line) => {
      const { code, stderr } = await run(line);
      expect([code, summary(stderr)]).toEqual([0, ['8 links were skipped']]);
      expect(await listThere()).toEqual(['/a', '/d', '/d/b']);
    },
  );

  test('that lead back over two directories end', async () => {
    symlinkSync('../tree', place('other/tree'));
    const { code } = await run('cloud stor put -r tree REMOTE --links follow');
    expect([code, (await listThere()).includes('/other/c')]).toEqual([0, true]);
  });

  test('sync --delete deletes no object of a link that is left out', async () => {
    await run('cloud stor put -r -q tree REMOTE --links follow; rm tree/a');
    const { code, stderr } = await run('cloud stor sync tree stor:REMOTE --delete -y');
    expect([code, stderr.includes('not deleted on the other side')]).toEqual([0, true]);
    const there = await listThere();
    expect([there.includes('/key'), there.includes('/other/c'), there.includes('/a')]).toEqual([true, true, false]);
  });

  test('sync down writes through none and replaces none', async () => {
    await run(
      'cloud stor put -r -q tree REMOTE --links follow; echo changed > new; cloud stor put -q new REMOTE/key; cloud stor put -q new REMOTE/inside',
    );
    const { code, stderr } = await run('cloud stor sync stor:REMOTE tree');
    expect([code, stderr.includes('tree/key is a symbolic link'), stderr.includes('tree/inside is a symbolic link')]).toEqual([
      5,
      true,
      true,
    ]);
    expect([readFileSync(place('secret'), 'utf8'), readFileSync(place('tree/d/b'), 'utf8')]).toEqual(['the private key', 'b']);
    expect(lstatSync(place('tree/key')).isSymbolicLink()).toBe(true);
  });
});

describe('names', () => {
  test('that this file system cannot hold are not deleted on the way back, and named', async () => {
    const long = 'y'.repeat(300);
    const deep = Array.from({ length: 25 }, () => 'z'.repeat(200)).join('/');
    await run(`cloud stor put -r -q tree REMOTE; cloud stor put -q secret REMOTE/${long}; cloud stor put -q -p secret REMOTE/${deep}/f`);
    const down = await run('cloud stor sync stor:REMOTE tree');
    expect([down.code, down.stderr.includes('the name is too long')]).toEqual([5, true]);
    await run('rm tree/a');
    const up = await run('cloud stor sync tree stor:REMOTE --delete -y');
    expect([up.code, up.stderr]).toEqual([
      0,
      expect.stringMatching(/\d+ names? cannot be stored by the local file system: not deleted on the other side: .*yyyy/u),
    ]);
    const there = await listThere();
    expect([there.includes(`/${long}`), there.includes(`/${deep}/f`), there.includes('/a')]).toEqual([true, true, false]);
  });

  test('like those of unfinished downloads hide nothing of the user', async () => {
    const name = `.cloud-${'0123456789'.repeat(2)}-123-0123abcd.part`;
    const longer = `.cloud-${'0123456789'.repeat(2)}-123-0123abcd01234567.part`;
    writeFileSync(place(`tree/${name}`), 'mine');
    writeFileSync(place(`tree/${longer}`), 'mine');
    expect((await run('cloud stor sync tree stor:REMOTE --delete -y')).code).toBe(0);
    expect(await listThere()).toEqual(expect.arrayContaining([`/${name}`, `/${longer}`]));
    expect((await run('cloud stor sync stor:REMOTE back --delete -y')).code).toBe(0);
    expect(readdirSync(place('back'))).toEqual(expect.arrayContaining([name, longer]));
  });

  test('of unfinished downloads are counted, and objects that have them stay', async () => {
    await run('head -c 24M /dev/urandom > large; cloud stor put -q large large; rm large');
    const words = ['stor', 'get', 'large', 'tree/large', '--bwlimit', '3M', '-q'];
    const getting = spawn(join(user.home, 'bin/cloud'), words, { cwd: folder, env: user.env, stdio: 'ignore' });
    const findLeft = () => readdirSync(place('tree')).find((name) => name.endsWith('.part'));
    const measure = () => statSync(place(`tree/${findLeft() ?? 'none'}`), { throwIfNoEntry: false })?.size;
    await expect.poll(measure).toBeGreaterThan(1.5 * 1024 * 1024);
    getting.kill('SIGINT');
    await once(getting, 'exit');
    const left = findLeft();
    expect(left).toBeDefined();
    await run(`cloud stor mkdir -q REMOTE; cloud stor put -q secret REMOTE/${left}`);
    const { code, stderr } = await run('cloud stor sync tree stor:REMOTE --delete -y');
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 unfinished download was skipped')]);
    expect(stderr).toContain('1 local entry is not synced: not deleted');
    expect(await listThere()).toContain(`/${left}`);
  });
});

test('a file in the place of a directory with directories in it replaces it there', async () => {
  expect((await run('cloud stor mkdir -p -q REMOTE/c/d/e && rm -r tree/a && echo file > tree/c')).code).toBe(0);
  const { code, stderr } = await run('cloud stor sync tree stor:REMOTE --delete -yq');
  expect([code, stderr]).toEqual([0, '']);
  expect(await listThere()).toEqual(['/c', '/d', '/d/b']);
});

describe('--exclude', () => {
  test('build/ leaves out directories at any depth, and files of that name come', async () => {
    mkdirSync(place('tree/d/build'));
    mkdirSync(place('tree/build'));
    writeFileSync(place('tree/d/build/x'), 'x');
    writeFileSync(place('tree/build/x'), 'x');
    mkdirSync(place('tree/e'));
    writeFileSync(place('tree/e/build'), 'a file');
    expect((await run('cloud stor sync tree stor:REMOTE --exclude build/')).code).toBe(0);
    expect(await listThere()).toEqual(['/a', '/d', '/d/b', '/e', '/e/build']);
    expect((await run('cloud stor sync tree stor:REMOTE --exclude /build/')).code).toBe(0);
    expect(await listThere()).toEqual(['/a', '/d', '/d/b', '/d/build', '/d/build/x', '/e', '/e/build']);
  });

  test('with --delete, a directory that stays is not listed again and again', async () => {
    await run('cloud stor sync -q tree stor:REMOTE; rm -r tree/d; cloud stor put -q secret REMOTE/d/kept.tmp');
    const line = 'cloud stor sync tree stor:REMOTE --delete -y --exclude "*.tmp"';
    expect((await run(line)).code).toBe(0);
    expect(await listThere()).toEqual(['/a', '/d', '/d/kept.tmp']);
    expect((await run(`${line} -n -o name`)).stdout).toBe('');
    await run('cloud stor sync -q stor:REMOTE back; rm -r back/a; mkdir -p back/gone; echo 1 > back/gone/x.tmp; echo 2 > back/gone/y');
    const down = 'cloud stor sync stor:REMOTE back --delete -y --exclude "*.tmp"';
    expect((await run(down)).code).toBe(0);
    expect([existsSync(place('back/gone/x.tmp')), existsSync(place('back/gone/y'))]).toEqual([true, false]);
    expect((await run(`${down} -n -o name`)).stdout).toBe('');
  });
});
