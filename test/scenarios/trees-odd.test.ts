import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** Odd things in trees: nothing of them is replaced, mixed up or taken for the same. */

const user = useShared('--http');

test('sync sees another content of the same size and time', async () => {
  await user.shell('mkdir same; echo one > same/a; echo one > same/b; touch -d 2020-01-01 same/*');
  for (const _ of ['new', 'known']) expect((await user.here(['stor', 'sync', '-q', 'same', 'stor:same'])).code).toBe(0);
  await user.shell('echo two > same/a; touch -d 2020-01-01 same/a; chmod 600 same/b');
  const { code, stdout } = await user.here(['stor', 'sync', 'same', 'stor:same', '-o', 'name']);
  expect([code, stdout]).toEqual([0, 'a\n']);
  expect((await user.here(['stor', 'cat', 'same/a'])).stdout).toBe('two\n');
  expect((await user.here(['stor', 'sync', 'same', 'stor:same', '-o', 'name'])).stdout).toBe('');
  await user.shell('echo six > same/b; touch -d 2020-01-01 same/b');
  expect((await user.here(['stor', 'sync', 'stor:same', 'same', '-o', 'name'])).stdout).toBe('b\n');
  expect(readFileSync(join(user.home, 'same/b'), 'utf8')).toBe('one\n');
});

test.each(['--max-time 1h', '--bwlimit 100M', '-P 1', '-P 64', '--max-requests-per-second 1000'])(
  'a tree of small files, some of them empty or the same, comes whole and silently with %s',
  async (limit) => {
    await user.shell('mkdir -p small; for n in $(seq 40); do echo $n > small/$n; done; touch small/empty; cp small/1 small/same');
    await user.line('cloud stor put -r -q -T small small');
    for (const line of ['get -r -T small got-small', 'sync stor:small synced-small']) {
      const folder = line.split(' ').at(-1);
      const { code, stderr } = await user.shell(`rm -rf ${folder}; cloud stor ${line} -q ${limit}; diff -r small ${folder}`);
      expect([line, code, stderr]).toEqual([line, 0, '']);
    }
  },
);

test('get -r and sync leave a named pipe and a device where a file would come', async () => {
  await user.line('mkdir files; echo 1 > files/pipe; echo 2 > files/good; cloud stor put -r -q files files');
  await user.shell('mkdir -p got/files synced; mkfifo got/files/pipe synced/pipe');
  for (const [line, folder] of [
    ['get -r files got', 'got/files'],
    ['sync stor:files synced', 'synced'],
  ] as const) {
    const { code, stderr } = await user.here(['stor', ...line.split(' ')]);
    expect([line, code, stderr]).toEqual([line, 5, expect.stringContaining(`${folder}/pipe is not a regular file: not replaced`)]);
    expect([lstatSync(join(user.home, folder, 'pipe')).isFIFO(), existsSync(join(user.home, folder, 'good'))]).toEqual([true, true]);
  }
});

test('get -r of selected files follows no link in its target, and one name in the way fails one file', async () => {
  await user.line('mkdir -p many/sub/deep many/way many/free; echo 1 > many/sub/deep/a; echo 2 > many/way/b; echo 3 > many/free/c');
  await user.line('cloud stor put -r -q -T many many');
  await user.shell('mkdir -p here out; ln -s ../out here/sub; echo mine > here/way');
  for (const dry of [['-n'], []]) {
    const { code, stderr } = await user.here(['stor', 'get', '-r', '-T', 'many', 'here', '--include', '*', ...dry]);
    expect([code, stderr]).toEqual([5, expect.stringContaining('here/sub is a symbolic link and is not followed')]);
    expect(stderr).toContain('here/way exists but is not a directory');
    expect(existsSync(join(user.home, 'here/free/c'))).toBe(dry.length === 0);
  }
  expect(existsSync(join(user.home, 'out/deep'))).toBe(false);
  expect(readFileSync(join(user.home, 'here/way'), 'utf8')).toBe('mine\n');
});

test('a manifest that does not fit on the disk is an error, not a shorter manifest', async () => {
  await user.shell('mkdir crowd; for i in $(seq 60); do echo > crowd/$i; done');
  await user.here(['stor', 'put', '-rqT', 'crowd', 'crowd']);
  // A file has at most 8 blocks of 1024 bytes.
  const { code, stderr } = await user.shell('ulimit -f 8; cloud stor get -rqT crowd crowded --with-headers');
  expect([code, stderr]).toEqual([1, expect.stringContaining('the file is too large for the file system')]);
  expect(existsSync(join(user.home, 'crowded/.cloud-headers.jsonl'))).toBe(false);
});

test('files that the system makes up are stored as they are read', async () => {
  for (const file of ['/proc/version', '/sys/kernel/mm/transparent_hugepage/enabled'].filter((each) => existsSync(each))) {
    expect(statSync(file).isFile()).toBe(true);
    const { code } = await user.here(['stor', 'put', file, 'made', '-q']);
    expect([file, code, (await user.here(['stor', 'cat', 'made'])).stdout]).toEqual([file, 0, readFileSync(file, 'utf8')]);
  }
});

test('mv refuses sources of which one is in the other', async () => {
  await user.line('mkdir -p x/d; echo f > x/f; echo g > x/d/g; cloud stor put -r -q x x; cloud stor mkdir -q into');
  for (const words of [
    ['x', 'x/f'],
    ['x/d/g', 'x'],
  ]) {
    const { code, stderr } = await user.here(['stor', 'mv', ...words, 'into/']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/x\/(f|d\/g) is inside .*x, which is also moved/u)]);
  }
  expect(await user.json('stor', 'ls', 'into')).toEqual([]);
  expect((await user.here(['stor', 'cat', 'x/d/g'])).stdout).toBe('g\n');
});

test.each([
  ['-T', ['mv', '-T', 'tree', 'there']],
  ['into a directory', ['mv', 'into/there', '']],
])('mv of a tree to a directory that is there replaces nothing in it: %s', async (name, line) => {
  const root = `mv ${name}`;
  const words = line.map((word) => (/^mv$|^-/.test(word) ? word : `${root}/${word}`));
  const from = words.at(-2) ?? '';
  const put = async (path: string, input: string): Promise<void> => {
    expect((await user.here(['stor', 'put', '-', path, '-p', '-q'], { input })).code).toBe(0);
  };
  for (const path of ['a', 'd/b', 'same']) await put(`${from}/${path}`, `new ${path}`);
  for (const path of ['a', 'other']) await put(`${root}/there/${path}`, `old ${path}`);
  // What an interrupted run has linked and not removed yet.
  await user.here(['stor', 'ln', `${from}/same`, `${root}/there/same`]);
  const { code, stderr } = await user.here(['stor', ...words]);
  expect([code, stderr]).toEqual([5, expect.stringContaining(`there/a differs from /demo/stor/${from}/a: both left alone`)]);
  const found = await user.here(['stor', 'find', root, '--type', 'f']);
  const paths = ['there/a', 'there/d/b', 'there/other', 'there/same'].map((path) => `/demo/stor/${root}/${path}`);
  expect(found.stdout.split('\n').filter(Boolean).toSorted()).toEqual([`/demo/stor/${from}/a`, ...paths].toSorted());
  for (const [path, content] of [
    [`${from}/a`, 'new a'],
    [`${root}/there/a`, 'old a'],
    [`${root}/there/d/b`, 'new d/b'],
    [`${root}/there/same`, 'new same'],
  ] as const)
    expect([path, (await user.here(['stor', 'cat', path])).stdout]).toEqual([path, content]);
});
