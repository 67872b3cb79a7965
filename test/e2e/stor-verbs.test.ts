import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { followRequests } from '../support/measured-run.ts';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');

const odd = 'Grüße #?%41+"q"\n\r\t寿司 😀';
const names = ['a.txt', 'b.bin', 'd/e/f.txt', 'd/g.bin', `d/${odd}`, `long/${'x'.repeat(255)}`, '-dash/-dash'];

beforeAll(async () => {
  for (const name of names) user.write(`tree/${name}`, name.endsWith('.bin') ? randomBytes(5000) : `content of ${name}`);
  await user.here(['stor', 'put', '-r', 'tree', 'tree']);
});

function listFiles(root: string): string[] {
  const entries = readdirSync(join(user.home, root), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map((entry) => join(entry.parentPath, entry.name).slice(join(user.home, root).length + 1)).toSorted();
}

function digest(file: string): string {
  return createHash('sha256')
    .update(readFileSync(join(user.home, file)))
    .digest('hex');
}

async function namesOf(...words: string[]): Promise<string[]> {
  const { stdout, code, stderr } = await user.here(['stor', ...words]);
  expect([code, stderr]).toEqual([0, '']);
  return stdout.split('\n').slice(0, -1);
}

test('a tree comes back byte for byte, under any name, with times and modes when asked', async () => {
  chmodSync(join(user.home, 'tree/a.txt'), 0o751);
  utimesSync(join(user.home, 'tree/a.txt'), 1e9, 1e9);
  expect((await user.here(['stor', 'put', 'tree/a.txt', 'tree/', '--modes', '-q'])).code).toBe(0);
  expect((await user.here(['stor', 'get', '-r', 'tree', 'copy', '--modes', '-q'])).code).toBe(0);
  expect(listFiles('copy')).toEqual(names.toSorted());
  for (const name of names) expect(digest(`copy/${name}`)).toBe(digest(`tree/${name}`));
  const { mtimeMs, mode } = statSync(join(user.home, 'copy/a.txt'));
  expect([mtimeMs, mode & 0o777]).toEqual([1e12, 0o751]);
});

test('get -r goes into a directory that is there; --no-clobber leaves files alone', async () => {
  user.write('into/keep', '');
  await user.here(['stor', 'get', '-r', 'tree/d', 'into']);
  writeFileSync(join(user.home, 'into/d/g.bin'), 'mine');
  const { code, stderr } = await user.here(['stor', 'get', '-r', 'tree/d', 'into', '--no-clobber']);
  expect((await user.here(['stor', 'put', '-r', 'into/d', 'tree', '--no-clobber'])).code).toBe(0);
  expect((await user.here(['stor', 'get', 'tree/d/g.bin'])).bytes.length).toBe(5000);
  expect([code, stderr]).toEqual([0, '']);
  expect(readFileSync(join(user.home, 'into/d/g.bin'), 'utf8')).toBe('mine');
});

test('patterns are expanded by the tool; a name with a star is a name', async () => {
  expect((await user.here(['stor', 'cat', 'tree/?.txt'])).stdout).toBe('content of a.txt');
  expect(await namesOf('ls', 'tree/**/*.bin', '-o', 'name')).toHaveLength(2);
  await user.here(['stor', 'put', '-', 'tree/*'], { input: 'star' });
  expect((await user.here(['stor', 'cat', 'tree/*'])).stdout).toBe('star');
  await user.here(['stor', 'rm', '-y', 'tree/*']);
  const nothing = await user.here(['stor', 'cat', 'tree/*.none']);
  expect([nothing.code, nothing.stderr.includes('matches nothing')]).toEqual([3, true]);
});

test('find streams paths and knows names, types, sizes, times, depths, and runs a command', async () => {
  expect(await namesOf('find', 'tree', '--name', '*.bin')).toEqual(['/demo/stor/tree/b.bin', '/demo/stor/tree/d/g.bin']);
  expect(await namesOf('find', 'tree', '--type', 'directory', '--maxdepth', '1')).toEqual(
    ['', '/-dash', '/d', '/long'].map((rel) => `/demo/stor/tree${rel}`),
  );
  expect(await namesOf('find', 'tree', '--size', '+4k', '--newer', '1h')).toHaveLength(2);
  expect(await namesOf('find', 'tree', '--older', '1h')).toEqual([]);
  expect((await user.here(['stor', 'find', 'tree/d', '-0'])).stdout.split('\0')).toContain(`/demo/stor/tree/d/${odd}`);
  const executed = await user.here(['stor', 'find', 'tree', '--name', '*.txt', '--type', 'f', '--exec', 'echo got {}']);
  expect(executed.stdout).toBe('got /demo/stor/tree/a.txt\ngot /demo/stor/tree/d/e/f.txt\n');
  expect((await user.here(['stor', 'find', 'tree', '--name', 'a.txt', '--exec', 'exit 3'])).code).toBe(1);
  expect((await user.here(['stor', 'find', 'tree', '--delete'])).code).toBe(2);
  await user.here(['stor', 'cp', '-r', 'tree/d', 'doomed']);
  const dry = await user.json('stor', 'find', 'doomed', '--name', '*.bin', '--delete', '-n');
  expect(dry).toEqual([{ action: 'delete', to: '/demo/stor/doomed/g.bin' }]);
  expect(await user.json('stor', 'find', 'doomed', '--name', '*.bin', '--delete', '-y')).toMatchObject([
    { path: '/demo/stor/doomed/g.bin' },
  ]);
  expect((await user.here(['stor', 'find', 'doomed', '--delete', '-y', '-q'])).code).toBe(0);
  expect((await user.here(['stor', 'ls', 'doomed'])).code).toBe(3);
});

test('find --delete refuses an empty path, and a root directory where nothing selects its entries; it leaves the root', async () => {
  for (const words of [[''], [], ['stor:'], ['tree', '']])
    expect((await user.here(['stor', 'find', ...words, '--delete', '-y'])).code, words.join()).toBe(2);
  expect((await user.here(['stor', 'find', '', '--exec', 'echo {}'])).code).toBe(2);
  expect((await user.here(['stor', 'find', 'tree', '-n'])).code).toBe(2);
  await user.here(['stor', 'put', '-', 'doomed.tmp', '-q'], { input: 'x' });
  const { code, stderr } = await user.here([
    'stor',
    'find',
    'stor:',
    '--exclude',
    'tree',
    '--newer',
    '1h',
    '--name',
    '*.tmp',
    '--delete',
    '-y',
  ]);
  expect([code, stderr]).toEqual([0, 'Deleted /demo/stor/doomed.tmp\n']);
  const fixed = await user.json('stor', 'find', 'stor:', '--name', 'stor', '--delete', '-y');
  expect(fixed).toEqual([]);
});

test('-h of ls and du is that of Unix: sizes with units, also with -l, which has bytes otherwise', async () => {
  await user.here(['stor', 'put', '-', '-pq', 'human/sized'], { input: 'x'.repeat(1536) });
  for (const [words, size] of [
    [['ls', 'human'], '1.5 KiB'],
    [['ls', '-h', 'human'], '1.5 KiB'],
    [['ls', '-l', 'human'], '1536'],
    [['ls', '-lh', 'human'], '1.5 KiB'],
    [['du', '-h', 'human'], '1.5 KiB'],
    [['du', '-hd0', 'human'], '1.5 KiB'],
    [['du', '-l', 'human'], '1536'],
    [['du', '-lh', 'human'], '1.5 KiB'],
  ] as const) {
    const { code, stdout } = await user.here(['stor', ...words]);
    expect([words, code, stdout.split('\n').filter((line) => /sized|human/.test(line) && line.includes(size)).length]).toEqual([
      words,
      0,
      1,
    ]);
  }
  expect((await user.here(['stor', 'ls', '--help'])).stdout).toContain('-h, --human');
  expect((await user.here(['stor', '-h'])).stdout).toContain('Usage:');
});

test('a moment is the same text in listings, of single objects, and in cards', async () => {
  await user.here(['stor', 'put', '-', '-pq', 'moment/one'], { input: 'x' });
  const shown = [
    ['ls', 'moment'],
    ['ls', '-l', 'moment'],
    ['ls', 'moment/one'],
    ['stat', 'moment/one'],
    ['find', '-l', 'moment'],
  ];
  const times = await Promise.all(
    shown.map(
      async (words) => (await user.here(['stor', ...words])).stdout.match(/\d{4}-\d\d-\d\dT[\d:.]+Z/gu)?.[words[0] === 'find' ? -1 : 0],
    ),
  );
  expect(new Set(times.filter((time) => time !== undefined)).size).toBe(1);
  expect(times[0]).toMatch(/T\d\d:\d\d:\d\dZ$/u);
});

test('ls sorts by name, time and size, in either direction, and several directories at once', async () => {
  await user.here(['stor', 'mkdir', 'sorted', 'sorted/dir', '-q']);
  for (const [name, size] of [
    ['b', 1],
    ['a', 30],
    ['c', 200],
  ] as const)
    await user.here(['stor', 'put', '-', `sorted/${name}`, '-q'], { input: 'x'.repeat(size) });
  const ls = (...words: string[]) => namesOf('ls', 'sorted', '-o', 'name', ...words);
  expect(
    [await ls(), await ls('-r'), await ls('-t'), await ls('-t', '-r'), await ls('-S'), await ls('-S', '-r')].map((all) => all.join(' ')),
  ).toEqual(['a b c dir', 'dir c b a', 'c a b dir', 'dir b a c', 'c a b dir', 'dir b a c']);
  const long = (await namesOf('ls', 'sorted', '-l')).map((line) => line.split(/ {2,}/u));
  expect(long[0]).toEqual(['TYPE', 'SIZE', 'MTIME', 'CONTENT-TYPE', 'DURABILITY', 'ETAG', 'NAME']);
  expect(long.at(3)).toEqual([
    'object',
    '200',
    expect.stringMatching(/^\d{4}-/u),
    'application/octet-stream',
    '2',
    expect.any(String),
    'c',
  ]);
  const both = await user.json<{ directory: string; name: string }[]>('stor', 'ls', 'sorted', 'tree/d/e');
  expect(both.map(({ directory, name }) => `${directory}/${name}`)).toContain('/demo/stor/tree/d/e/f.txt');
  const du = await user.json<{ path: string; size: number }[]>('stor', 'du', 'tree', '-d', '0');
  expect(du.map(({ path }) => path)).toEqual(['/demo/stor/tree']);
});

test('du sums up, tree draws names that cannot break the drawing', async () => {
  const rows = await user.json<{ path: string; size: number; objects: number }[]>('stor', 'du', 'tree/d');
  const whole = rows.at(-1);
  const sizes = names.filter((name) => name.startsWith('d/')).map((name) => statSync(join(user.home, 'tree', name)).size);
  expect(whole).toMatchObject({ path: '/demo/stor/tree/d', objects: 3, size: sizes.reduce((sum, size) => sum + size, 0) });
  expect(await namesOf('tree', 'tree/d')).toEqual([
    '/demo/stor/tree/d',
    '├── Grüße #?%41+"q"\\n\\r\\t寿司 😀',
    '├── e/',
    '│   └── f.txt',
    '└── g.bin',
    '1 directory, 3 objects',
  ]);
});

test('cp and ln make links, which later changes of the source leave as they are', async () => {
  await user.here(['stor', 'put', '-', 'source'], { input: 'first' });
  expect((await user.here(['stor', 'cp', 'source', 'copied'])).code).toBe(0);
  expect((await user.here(['stor', 'ln', 'source', 'tree/'])).code).toBe(0);
  await user.here(['stor', 'put', '-', 'source'], { input: 'second' });
  for (const path of ['copied', 'tree/source']) expect((await user.here(['stor', 'cat', path])).stdout).toBe('first');
  expect((await user.here(['stor', 'cp', 'source', 'copied', '--no-clobber'])).stderr).toContain('exists: left alone');
  expect((await user.here(['stor', 'cp', '-r', 'tree', 'made/deep/tree', '-p', '-q'])).code).toBe(0);
  expect(await user.json('stor', 'diff', 'stor:tree', 'stor:made/deep/tree')).toEqual([]);
  await user.here(['stor', 'meta', 'set', 'made/deep/tree/d', 'color=grün']);
  for (const [verb, from, to] of [
    ['cp', 'made/deep', 'copy'],
    ['mv', 'copy', 'renamed'],
  ] as const) {
    expect((await user.here(['stor', verb, ...(verb === 'cp' ? ['-r'] : []), from, to, '-q'])).code).toBe(0);
    expect(await user.json('stor', 'meta', 'get', `${to}/tree/d`)).toMatchObject({ 'm-color': 'grün' });
  }
  const cases: [string[], string][] = [
    [['cp', 'tree', 'other'], 'cloud stor cp -r'],
    [['cp', '-r', 'tree', 'tree/d'], 'cannot be copied into itself'],
    [['cp', 'source', 'source'], 'the same'],
    [['cp', 'source', 'no/such'], 'cloud stor cp -p'],
    [['ln', 'tree', 'other'], 'is a directory: only objects can be linked'],
    [['ln', 'tree', 'copied'], 'is a directory: only objects can be linked'],
    [['ln', 'nothing', 'other'], 'does not exist'],
    [['ln', 'nothing', 'tree'], 'does not exist'],
    [['ln', 'source', 'source'], 'the same'],
    [['ln', 'tree/source', 'tree'], 'the same'],
    [['ln', 'source', 'no/such'], 'cloud stor ln -p'],
    [['ln', 'source', 'copied/below'], 'is not a directory'],
  ];
  for (const [words, message] of cases) {
    const { code, stderr } = await user.here(['stor', ...words]);
    expect([words, code !== 0, stderr.includes(message)]).toEqual([words, true, true]);
  }
});

test('ln asks once where it makes a name of an object, and finds out what there is where that is refused', async () => {
  await user.here(['stor', 'mkdir', 'linked', '-q']);
  const count = followRequests(user);
  const link = async (...words: string[]): Promise<unknown[]> => {
    const { code, stdout } = await user.here(['stor', 'ln', ...words, '-o', 'jsonl']);
    expect(code).toBe(0);
    const { to } = JSON.parse(stdout) as { to: string };
    return [to.replace('/demo/stor/', ''), count().map(({ method, status }) => `${method} ${status}`)];
  };
  expect(await link('source', 'linked/new')).toEqual(['linked/new', ['PUT 204']]);
  expect(await link('copied', 'linked/new')).toEqual(['linked/new', ['PUT 204']]);
  expect(await link('source', 'linked')).toEqual(['linked/source', ['PUT 400', 'HEAD 200', 'HEAD 200', 'PUT 204']]);
  expect((await user.here(['stor', 'cat', 'linked/new', 'linked/source'])).stdout).toBe('firstsecond');
});

test('mv renames an object and moves a tree', async () => {
  await user.here(['stor', 'put', '-', 'before'], { input: 'x' });
  expect((await user.here(['stor', 'mv', 'before', 'after'])).code).toBe(0);
  expect((await user.here(['stor', 'cat', 'after'])).stdout).toBe('x');
  expect((await user.here(['stor', 'stat', 'before'])).code).toBe(3);
  await user.here(['stor', 'cp', '-r', 'tree', 'moving', '-q']);
  const { code, stderr } = await user.here(['stor', 'mv', 'moving', 'moved']);
  expect([code, stderr]).toEqual([0, '']);
  expect(await user.json('stor', 'diff', 'stor:tree', 'stor:moved')).toEqual([]);
  expect((await user.here(['stor', 'stat', 'moving'])).code).toBe(3);
});

test('headers are set, unset and replaced; text beyond ASCII comes back', async () => {
  await user.here(['stor', 'put', '-', 'notes.txt', '-m', 'kept=1', '--header', 'cache-control: no-store'], { input: 'n' });
  const meta = (...words: string[]): Promise<Record<string, string>> => user.json('stor', 'meta', ...words);
  expect(await meta('set', 'notes.txt', 'author=Jürgen 寿', 'm-topic=a=b')).toEqual({
    'content-type': 'text/plain',
    'cache-control': 'no-store',
    'm-kept': '1',
    'm-author': 'Jürgen 寿',
    'm-topic': 'a=b',
  });
  expect((await user.here(['stor', 'meta', 'get', 'notes.txt', 'author', '-o', 'name'])).stdout).toBe('Jürgen 寿\n');
  await meta('unset', 'notes.txt', 'kept', 'cache-control');
  expect(await meta('get', 'notes.txt')).toEqual({ 'content-type': 'text/plain', 'm-author': 'Jürgen 寿', 'm-topic': 'a=b' });
  expect(await meta('replace', 'notes.txt', 'only=this')).toEqual({ 'content-type': 'text/plain', 'm-only': 'this' });
  expect((await user.here(['stor', 'cat', 'notes.txt'])).stdout).toBe('n');
  expect((await user.here(['stor', 'meta', 'set', 'notes.txt', `k=${'x'.repeat(5000)}`])).code).toBe(2);
  expect((await user.here(['stor', 'meta', 'get', 'notes.txt', 'other'])).code).toBe(3);
});

test('changes of headers at the same time are not lost', async () => {
  await user.here(['stor', 'put', '-', 'shared'], { input: 's' });
  const outcomes = await Promise.all([1, 2, 3].map((number) => user.here(['stor', 'meta', 'set', 'shared', `key${number}=${number}`])));
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(await user.json('stor', 'meta', 'get', 'shared')).toMatchObject({ 'm-key1': '1', 'm-key2': '2', 'm-key3': '3' });
});

test('a signed URL works with plain curl, for what it says', async () => {
  const { stdout: url } = await user.here(['stor', 'sign', `tree/d/${odd}`]);
  const fetched = await user.shell(`curl -sS --cacert '${user.local.caFile}' '${url.trim()}'`);
  expect([fetched.stderr, fetched.stdout]).toEqual(['', `content of d/${odd}`]);
  expect((await user.shell(`curl -sS --cacert '${user.local.caFile}' -X DELETE '${url.trim()}'`)).stdout).toContain('Invalid');
  const { stdout: upload } = await user.here(['stor', 'sign', 'uploaded', '--method', 'PUT', '--expires', '1m']);
  await user.shell(`printf hello | curl -sS --cacert '${user.local.caFile}' -T - '${upload.trim()}'`);
  expect((await user.here(['stor', 'cat', 'uploaded'])).stdout).toBe('hello');
  expect((await user.here(['stor', 'sign', 'nothing-there'])).code).toBe(3);
});

test('--dry-run says what put, get, cp and mv would do, and does nothing', async () => {
  const before = [await namesOf('find'), listFiles('.')];
  const told = async (...words: string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await user.here(['stor', ...words, '--dry-run']);
    expect([words, code, stdout]).toEqual([words, 0, '']);
    return stderr.split('\n').slice(0, -1);
  };
  expect(await told('put', 'tree/a.txt', 'tree/new/a.txt', '-p')).toEqual(['Would store tree/a.txt -> /demo/stor/tree/new/a.txt']);
  expect(await told('put', '-r', 'tree/d/e', 'tree/fresh')).toEqual([
    'Would make /demo/stor/tree/fresh',
    expect.stringMatching(/^Would store .*\/tree\/d\/e\/f\.txt -> \/demo\/stor\/tree\/fresh\/f\.txt$/u),
  ]);
  expect(await told('put', 'tree/a.txt', 'tree/a.txt', '--no-clobber')).toEqual(['/demo/stor/tree/a.txt exists: it would be left alone']);
  expect(await told('get', '-r', 'tree/d/e', 'fetched')).toEqual([
    `Would write /demo/stor/tree/d/e/f.txt -> ${join(user.home, 'fetched/f.txt')}`,
  ]);
  expect(await told('cp', '-r', 'tree/d/e', 'tree/copied')).toEqual([
    'Would make /demo/stor/tree/copied',
    'Would copy /demo/stor/tree/d/e/f.txt -> /demo/stor/tree/copied/f.txt',
  ]);
  expect(await told('mv', 'tree/a.txt', 'tree/d')).toEqual(['Would move /demo/stor/tree/a.txt -> /demo/stor/tree/d/a.txt']);
  expect((await user.here(['stor', 'get', 'tree/none', 'x', '--dry-run'])).code).toBe(3);
  expect([await namesOf('find'), listFiles('.')]).toEqual(before);
});

test('rm -r removes a tree and nothing else; --dry-run nothing', async () => {
  await user.here(['stor', 'cp', '-r', 'tree', 'rubbish', '-q']);
  expect((await user.here(['stor', 'rm', '-r', 'rubbish', '-n'])).stderr).toContain('Would delete /demo/stor/rubbish/d/e/f.txt');
  expect((await user.here(['stor', 'rm', '-r', 'rubbish'])).code).toBe(2);
  expect((await user.here(['stor', 'rm', '-ry', 'rubbish'])).code).toBe(0);
  expect((await user.here(['stor', 'stat', 'rubbish'])).code).toBe(3);
  // The link that the test of ln made is one more.
  const left = await user.json<{ path: string }[]>('stor', 'find', 'tree', '--type', 'f');
  expect(left.map(({ path }) => path.slice('/demo/stor/tree/'.length)).toSorted()).toEqual([...names, 'source'].toSorted());
  expect((await user.here(['stor', 'rm', '-ry', '/demo/stor'])).code).toBe(2);
});

test('commands that read several items try all of them and exit with 5; cat writes an item each time it is named', async () => {
  await user.here(['stor', 'mkdir', '-p', 'several/dir']);
  for (const name of ['a', 'b']) await user.here(['stor', 'put', '-', `several/${name}`], { input: name });
  const run = async (...words: string[]): Promise<[number | null, string, string]> => {
    const { code, stdout, stderr } = await user.here(['stor', ...words]);
    return [code, stdout.replaceAll('/demo/stor/', ''), stderr];
  };
  const { code, stdout } = await user.here(['stor', 'cat', 'several/a', 'several/b', 'several/a']);
  expect([code, stdout]).toEqual([0, 'aba']);
  expect((await run('get', 'several/a', 'several/b', 'several/a', '-'))[1]).toBe('aba');
  const failed = expect.stringMatching(/none does not exist[^]*: 1 of \d failed\n$/u);
  expect(await run('cat', 'several/a', 'several/none', 'several/b')).toEqual([5, 'ab', failed]);
  expect(await run('get', 'several/none', 'several/b', '-')).toEqual([5, 'b', failed]);
  expect(await run('find', 'several/none', 'several/a')).toEqual([5, 'several/a\n', failed]);
  expect(await run('find', 'several/none', 'several/a', '--exec', 'echo got {}')).toEqual([5, 'got several/a\n', failed]);
  expect(await run('du', 'several/none', 'several/a', '-o', 'name')).toEqual([5, 'several/a\n', failed]);
  expect(await run('tree', 'several/none', 'several/dir')).toEqual([5, 'several/dir\n0 directories, 0 objects\n', failed]);
  expect(await run('sign', 'several/none', 'several/a')).toEqual([5, expect.stringMatching(/^https?:.*several\/a\?.*\n$/u), failed]);
  // A directory that a wildcard matches is reported, as by get.
  expect(await run('cat', 'several/*')).toEqual([5, 'ab', expect.stringContaining('several/dir is a directory')]);
  for (const verb of ['cat', 'find', 'du', 'tree', 'sign']) expect((await run(verb, 'several/none', 'several/no'))[0], verb).toBe(3);
  const told = await run('find', 'several', '--type', 'f', '--exec', 'echo got {}; exit 3');
  expect(told).toEqual([1, 'got several/a\ngot several/b\n', expect.stringContaining('2 of 2 failed')]);
});

test('a folder that is a file, and files that cannot be read, are reported one by one', async () => {
  user.write('partly/good', 'good');
  await user.shell('ln -s nowhere partly/broken; mkfifo partly/pipe; ln -s / partly/loop');
  const { code, stderr } = await user.here(['stor', 'put', '-r', 'partly', 'partly']);
  expect(code).toBe(5);
  for (const word of ['broken', 'pipe is neither', '1 link leads out of the tree']) expect(stderr).toContain(word);
  expect((await user.here(['stor', 'cat', 'partly/good'])).stdout).toBe('good');
  user.write('blocked/d', 'a file where a directory is to be');
  const got = await user.here(['stor', 'get', '-r', 'tree', 'blocked', '-q']);
  expect(got.code).toBe(0);
  const clash = await user.here(['stor', 'get', 'tree/a.txt', 'moved/../blocked/tree']);
  expect([clash.code, existsSync(join(user.home, 'blocked/tree/a.txt'))]).toEqual([0, true]);
});

test('roles of an object are shown, added, removed and set; its headers stay', async () => {
  for (const role of ['operators', 'auditors']) expect((await user.here(['roles', 'create', role])).code).toBe(0);
  await user.here(['stor', 'put', '-', 'tagged', '-m', 'author=Jürgen'], { input: 't' });
  const roles = async (...words: string[]): Promise<string[]> => (await user.json<{ roles: string[] }>('stor', 'roles', ...words)).roles;
  expect(await roles('get', 'tagged')).toEqual([]);
  expect(await roles('add', 'tagged', 'operators', 'auditors')).toEqual(['operators', 'auditors']);
  await roles('remove', 'tagged', 'operators');
  expect(await roles('get', 'tagged')).toEqual(['auditors']);
  expect(await roles('set', 'tagged')).toEqual([]);
  expect(await user.json('stor', 'meta', 'get', 'tagged')).toMatchObject({ 'm-author': 'Jürgen' });
  expect((await user.here(['stor', 'roles', 'add', 'tagged', 'nobody'])).stderr).toContain('InvalidRoleTag');
});
