import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');

interface Step {
  action: string;
  rel: string;
  reason: string;
}

/** The steps that a run did, as `action rel`. */
async function sync(...words: string[]): Promise<string[]> {
  const steps = await user.json<Step[]>('stor', 'sync', ...words);
  return steps.map(({ action, rel, reason }) => `${action} ${rel} ${reason}`);
}

/** Names and contents of a local tree. */
function readTree(name: string): Record<string, string> {
  const root = join(user.home, name);
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const entries = files.map((entry) => {
    const file = join(entry.parentPath, entry.name);
    return [file.slice(root.length + 1), readFileSync(file, 'utf8')] as const;
  });
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Requests of a run by method, from `--verbose`. */
async function countRequests(...words: string[]): Promise<Record<string, number>> {
  const { stderr } = await user.here(['stor', 'sync', ...words, '-v']);
  const counts: Record<string, number> = {};
  for (const [, method = ''] of stderr.matchAll(/^> ([A-Z]+) /gm)) counts[method] = (counts[method] ?? 0) + 1;
  return counts;
}

test('a tree goes up, comes back the same with its times, and a second run does nothing but list', async () => {
  const names = ['a.txt', 'd/b c.txt', 'd/e/Grüße #?%.txt', 'd/e/new\nline', '-dash', 'empty'];
  for (const name of names) user.write(`one/${name}`, name === 'empty' ? '' : `content of ${name}`);
  mkdirSync(join(user.home, 'one/hollow'));
  utimesSync(join(user.home, 'one/a.txt'), 1_000_000_000.5, 1_000_000_000.5);
  const done = await sync('one', 'stor:one');
  expect(done).toContain('mkdir hollow new');
  expect(done.filter((step) => step.startsWith('copy'))).toHaveLength(names.length);
  expect(await sync('one', 'stor:one')).toEqual([]);
  const requests = await countRequests('one', 'stor:one');
  expect(Object.keys(requests).toSorted()).toEqual(['GET', 'HEAD']);
  // One question about the target, one listing for each directory.
  expect(requests).toEqual({ HEAD: 1, GET: 4 });
  expect((await sync('stor:one', 'back')).length).toBe(done.length);
  expect(readTree('back')).toEqual(readTree('one'));
  expect(statSync(join(user.home, 'back/a.txt')).mtimeMs).toBe(1_000_000_000_500);
  expect(statSync(join(user.home, 'back/hollow')).isDirectory()).toBe(true);
  expect(await sync('stor:one', 'back')).toEqual([]);
});

test('without memory of earlier runs one request per file finds out, and is remembered', async () => {
  user.write('seen/x', 'x');
  user.write('seen/y', 'y');
  await sync('seen', 'stor:seen');
  rmSync(join(user.home, '.local/state/cloud/sync'), { recursive: true });
  expect(await countRequests('seen', 'stor:seen')).toEqual({ HEAD: 3, GET: 1 });
  expect(await countRequests('seen', 'stor:seen')).toEqual({ HEAD: 1, GET: 1 });
});

test('changes of size, time and content are found; --checksum finds what kept both', async () => {
  for (const name of ['grown', 'touched', 'sneaky', 'same']) user.write(`two/${name}`, 'one');
  const sneaky = join(user.home, 'two/sneaky');
  utimesSync(sneaky, 1e9, 1e9);
  await sync('two', 'stor:two');
  user.write('two/grown', 'longer');
  writeFileSync(join(user.home, 'two/touched'), 'two');
  utimesSync(join(user.home, 'two/touched'), 2e9, 2e9);
  writeFileSync(sneaky, 'six');
  utimesSync(sneaky, 1e9, 1e9);
  // What was remembered knows when anything about a file was last changed; without it only the content tells.
  expect(await sync('two', 'stor:two', '--dry-run')).toEqual(['copy grown size', 'copy sneaky content', 'copy touched mtime']);
  rmSync(join(user.home, '.local/state/cloud/sync'), { recursive: true });
  expect(await sync('two', 'stor:two')).toEqual(['copy grown size', 'copy touched mtime']);
  expect(await sync('two', 'stor:two', '--checksum')).toEqual(['copy sneaky content']);
  expect(await sync('two', 'stor:two', '--checksum')).toEqual([]);
  expect(await sync('stor:two', 'two', '--size-only')).toEqual([]);
  expect((await user.here(['stor', 'cat', 'two/sneaky'])).stdout).toBe('six');
});

test('--delete removes exactly what left; patterns take part in it', async () => {
  for (const name of ['keep', 'gone', 'dir/gone', 'dir/sub/gone', 'notes.tmp', 'tmpdir/x.tmp']) user.write(`three/${name}`, name);
  await sync('three', 'stor:three');
  for (const name of ['gone', 'dir', 'notes.tmp', 'tmpdir']) rmSync(join(user.home, 'three', name), { recursive: true });
  expect(await sync('three', 'stor:three')).toEqual([]);
  const expected = ['delete dir/gone extra', 'delete dir/sub/gone extra', 'delete gone extra', 'rmdir dir/sub extra', 'rmdir dir extra'];
  expect(await sync('three', 'stor:three', '--delete', '--exclude', '*.tmp', '-n')).toEqual(expected);
  await sync('three', 'stor:three', '--delete', '--yes', '--exclude', '*.tmp');
  const left = await user.json<{ name: string }[]>('stor', 'ls', 'three');
  expect(left.map(({ name }) => name)).toEqual(['keep', 'notes.tmp', 'tmpdir']);
  await sync('three', 'stor:three', '--delete', '--yes');
  expect((await user.json<{ name: string }[]>('stor', 'ls', 'three')).map(({ name }) => name)).toEqual(['keep']);
  user.write('four/only.me', 'x');
  user.write('four/not.me', 'x');
  user.write('four/deep/only.me', 'x');
  user.write('four/empty/not.me', 'x');
  expect(await sync('four', 'stor:four', '--include', 'only.*')).toEqual(['copy deep/only.me new', 'copy only.me new']);
  expect((await user.json<{ name: string }[]>('stor', 'ls', 'four')).map(({ name }) => name)).toEqual(['deep', 'only.me']);
});

test('--delete asks, and changes nothing without an answer, from an empty source or beyond --max-delete', async () => {
  for (const name of ['x', 'y', 'z']) user.write(`kept/${name}`, name);
  await sync('kept', 'stor:kept');
  mkdirSync(join(user.home, 'hollow'));
  user.write('kept/new', 'new');
  // What is left of a tree from `get -r --with-headers` when its files are gone.
  user.write('left/.cloud-headers.jsonl', '');
  rmSync(join(user.home, 'kept/x'));
  rmSync(join(user.home, 'kept/y'));
  const refused: [words: string[], message: RegExp][] = [
    [['kept', 'stor:kept', '--delete'], /Nothing was done: there is no terminal to confirm it\nhint: add --yes\n$/],
    [['hollow', 'stor:kept', '--delete', '-y'], /hollow is empty: .* Nothing was done\nhint: .*--allow-empty-source\n$/],
    [['hollow', 'stor:kept', '--delete', '-y', '--plan', 'plan'], /hollow is empty/],
    [['left', 'stor:kept', '--delete', '-y'], /left is empty/],
    [['hollow', 'stor:kept', '--delete', '-n'], /hollow is empty/],
    [['kept', 'stor:kept', '--delete', '-y', '--max-delete', '1'], /2 entries of stor:\S+ would be deleted, more than --max-delete 1/],
  ];
  for (const [words, message] of refused) {
    const { code, stderr } = await user.here(['stor', 'sync', ...words]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  }
  expect((await user.json<{ name: string }[]>('stor', 'ls', 'kept')).map(({ name }) => name)).toEqual(['x', 'y', 'z']);
  expect(await sync('kept', 'stor:kept', '--delete', '-y', '--max-delete', '2')).toHaveLength(3);
  expect(await sync('hollow', 'stor:kept', '--delete', '-y', '--allow-empty-source')).toHaveLength(2);
});

test.each([
  ['wrong stor:wrong --max-delete 3', '--max-delete needs --delete\nhint: add --delete'],
  ['wrong stor:wrong --allow-empty-source', '--allow-empty-source needs --delete\nhint: add --delete'],
  ['wrong stor:wrong --with-headers', '--with-headers applies to downloads\nhint: omit --with-headers'],
  ['wrong stor:wrong --sparse', '--sparse applies to downloads'],
  ['stor:wrong wrong --without-headers', '--without-headers applies to uploads'],
  ['stor:wrong wrong --copies 3', '--copies applies to uploads'],
  ['stor:wrong wrong --link-known', '--link-known applies to uploads'],
  ['stor:wrong wrong --copy', '--copy applies to objects that are stored, not to downloads'],
  ['stor:wrong wrong --reset-headers', '--reset-headers applies to objects that are stored, not to downloads'],
  ['stor:wrong stor:other --copies 3', '--copies applies to uploads'],
  ['stor:wrong stor:other --sparse', '--sparse applies to downloads'],
  ['stor:wrong stor:other --modes', '--modes applies to local files'],
  ['file stor:wrong', 'file is a file, not a directory\nhint: use cloud stor put or cp'],
  ['file stor:wrong -n', 'file is a file, not a directory'],
  ['wrong stor:object/below -n', 'object is an object, not a directory'],
])('a sync that cannot be meant is refused, and nothing is done: %s', async (line, message) => {
  user.write('wrong/f', 'f');
  user.write('file', 'f');
  await user.line('cloud stor put -q file object');
  const { code, stderr } = await user.here(['stor', 'sync', ...line.split(' ')]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect((await user.here(['stor', 'ls', 'wrong'])).code).toBe(3);
});

test('a directory is neither compared with a file nor written over one', async () => {
  user.write('whole/f', 'f');
  user.write('single', 'f');
  await sync('whole', 'stor:whole');
  const up = await user.here(['stor', 'diff', 'single', 'stor:whole']);
  expect([up.code, up.stderr]).toEqual([2, expect.stringContaining('single is a file, not a directory\nhint: use cloud stor put')]);
  for (const words of [['sync'], ['sync', '-n'], ['diff']]) {
    const { code, stderr } = await user.here(['stor', ...words, 'stor:whole', 'single']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('single exists but is not a directory')]);
  }
});

test('a source that cannot be read whole deletes nothing', async () => {
  user.write('five/a', 'a');
  user.write('five/b', 'b');
  await sync('five', 'stor:five');
  rmSync(join(user.home, 'five/a'));
  rmSync(join(user.home, 'five/b'));
  await user.shell('mkfifo five/broken');
  const { code, stderr } = await user.here(['stor', 'sync', 'five', 'stor:five', '--delete', '--yes']);
  expect([code, stderr.includes('broken')]).toEqual([1, true]);
  expect(await user.json<unknown[]>('stor', 'ls', 'five')).toHaveLength(2);
});

test('a file in the place of a directory and the reverse: left alone, replaced with --delete', async () => {
  user.write('six/x', 'file');
  user.write('six/y/inner', 'inner');
  user.write('turned/x/inner', 'inner');
  user.write('turned/y', 'file');
  await sync('six', 'stor:six');
  const { code, stderr } = await user.here(['stor', 'sync', 'turned', 'stor:six']);
  expect([code, stderr.includes('--delete')]).toEqual([1, true]);
  expect((await user.here(['stor', 'cat', 'six/x'])).stdout).toBe('file');
  await sync('turned', 'stor:six', '--delete', '--yes');
  expect(await sync('stor:six', 'six', '--delete', '--yes')).not.toEqual([]);
  expect(readTree('six')).toEqual(readTree('turned'));
});

test('a file that gives way to a directory counts as a deletion', async () => {
  user.write('swapped/d/inner', 'inner');
  user.write('precious/d', 'precious');
  await sync('swapped', 'stor:swapped');
  await sync('precious', 'stor:precious');
  for (const words of [
    ['stor:swapped', 'precious'],
    ['swapped', 'stor:precious'],
  ]) {
    const { code, stderr } = await user.here(['stor', 'sync', ...words, '--delete', '-y', '--max-delete', '0']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('1 entry of') as string]);
  }
  expect([readTree('precious'), (await user.here(['stor', 'cat', 'precious/d'])).stdout]).toEqual([{ d: 'precious' }, 'precious']);
});

test('a plan that exchanges files and directories is done once, however often it is run, on either side', async () => {
  for (const [name, content] of [
    ['was/a/inner', '1'],
    ['was/b', 'b'],
    ['is/a', 'a'],
    ['is/b/inner', '2'],
  ] as const)
    user.write(name, content);
  await sync('is', 'stor:is');
  await sync('was', 'stor:was');
  for (const [from, to] of [
    ['stor:is', 'was'],
    ['is', 'stor:was'],
  ] as const) {
    await user.here(['stor', 'sync', from, to, '--delete', '--plan', 'plan.jsonl']);
    for (let turn = 0; turn < 3; turn += 1) {
      const { code, stderr } = await user.here(['stor', 'run', 'plan.jsonl', '-y', '-q']);
      expect([turn, code, stderr]).toEqual([turn, 0, '']);
      expect(await user.json('stor', 'diff', from, to)).toEqual([]);
    }
  }
});

test('a directory that a plan removes stays when it has become a file meanwhile', async () => {
  user.write('before/d/inner', 'inner');
  user.write('before/kept', 'kept');
  user.write('after/kept', 'kept');
  await sync('before', 'stor:before');
  await sync('after', 'stor:after');
  await user.here(['stor', 'sync', 'after', 'stor:before', '--delete', '--plan', 'far.jsonl']);
  await user.here(['stor', 'sync', 'stor:after', 'before', '--delete', '--plan', 'near.jsonl']);
  await user.here(['stor', 'rm', '-ry', 'before/d']);
  await user.here(['stor', 'put', 'after/kept', 'before/d']);
  rmSync(join(user.home, 'before/d'), { recursive: true });
  user.write('before/d', 'mine');
  for (const [plan, path] of [
    ['far.jsonl', '/demo/stor/before/d'],
    ['near.jsonl', join(user.home, 'before/d')],
  ] as const) {
    const { code, stderr } = await user.here(['stor', 'run', plan, '-y', '-q']);
    expect([plan, code, stderr]).toEqual([plan, 5, expect.stringContaining(`${path} has changed meanwhile: left alone`) as string]);
  }
  expect([(await user.here(['stor', 'cat', 'before/d'])).stdout, readTree('before')['d']]).toEqual(['kept', 'mine']);
});

test('between directories of the object storage by links, and diff is the report alone', async () => {
  user.write('seven/a', 'a');
  user.write('seven/d/b', 'b');
  await sync('seven', 'stor:seven');
  const changes = await user.json<{ change: string; rel: string }[]>('stor', 'diff', 'stor:seven', 'stor:eight');
  expect(changes.map(({ change, rel }) => `${change} ${rel}`)).toEqual(['new ', 'new a', 'new d', 'new d/b']);
  await sync('stor:seven', 'stor:eight');
  expect(await user.json('stor', 'diff', 'stor:seven', 'stor:eight')).toEqual([]);
  const etags = await Promise.all(['seven/a', 'eight/a'].map((path) => user.json<{ etag: string }>('stor', 'stat', path)));
  expect(etags[0]?.etag).toBe(etags[1]?.etag);
});

test('a plan is done once however often it is run, and not at all when its ground has changed', async () => {
  user.write('nine/a', 'a');
  user.write('nine/d/b', 'b');
  user.write('nine/old', 'old');
  await sync('nine', 'stor:nine');
  rmSync(join(user.home, 'nine/old'));
  user.write('nine/a', 'longer');
  user.write('nine/n/new', 'new');
  await user.here(['stor', 'sync', 'nine', 'stor:nine', '--delete', '--plan', 'plan.jsonl']);
  expect(await user.json<unknown[]>('stor', 'diff', 'nine', 'stor:nine')).toHaveLength(4);
  expect(await user.here(['stor', 'diff', 'nine', 'stor:nine', '--exit-code'])).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('n/new'),
    stderr: expect.stringMatching(/: the directories differ in 4 places\n$/) as string,
  });
  const first = await user.json<Step[]>('stor', 'run', 'plan.jsonl', '--yes');
  expect(first.map(({ action, rel }) => `${action} ${rel}`).toSorted()).toEqual(['copy a', 'copy n/new', 'delete old', 'mkdir n']);
  expect(await user.json('stor', 'diff', 'nine', 'stor:nine')).toEqual([]);
  expect(await user.here(['stor', 'diff', 'nine', 'stor:nine', '--exit-code'])).toMatchObject({
    code: 0,
    stdout: 'CHANGE  TYPE  REASON  SIZE  PATH\n',
    stderr: '',
  });
  expect((await user.here(['stor', 'run', 'plan.jsonl', '--yes'])).code).toBe(0);
  user.write('other', 'somebody else');
  await user.here(['stor', 'put', 'other', 'nine/a']);
  const refused = await user.here(['stor', 'run', 'plan.jsonl', '--yes']);
  expect([refused.code, refused.stderr.includes('/demo/stor/nine/a has changed meanwhile')]).toEqual([5, true]);
  expect((await user.here(['stor', 'cat', 'nine/a'])).stdout).toBe('somebody else');
  const roots = { plan: 1, from: join(user.home, 'nine'), to: 'stor:/demo/stor/nine' };
  user.write('bad.jsonl', `${JSON.stringify(roots)}\n{"action":"copy","to":"stor:/demo/stor/nine/x"}\n`);
  expect(await user.here(['stor', 'run', 'bad.jsonl'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('line 2: a copy needs "from"') as string,
  });
});

test('contradictions and impossible sides are told in one line', async () => {
  user.write('ten/x', 'x');
  await user.here(['stor', 'put', 'ten/x', 'object']);
  const cases: [string[], string][] = [
    [['ten', 'elsewhere'], 'both directories are local'],
    [['nowhere', 'stor:x'], 'no such directory'],
    [['ten', 'stor:object'], 'is an object, not a directory'],
    [['stor:nothing', 'ten'], 'does not exist'],
    [['stor:object', 'ten'], 'is an object, not a directory'],
    [['stor:one', 'stor:one/d'], 'overlap'],
    [['ten', 'stor:x', '--checksum', '--size-only'], 'cannot be combined'],
    [['ten', 'stor:x', '--exclude', '[z-a]'], 'is not a pattern'],
  ];
  for (const [words, message] of cases) {
    const { code, stdout, stderr } = await user.here(['stor', 'sync', ...words]);
    expect([words, [2, 3].includes(code ?? 0), stdout, stderr.includes(message)]).toEqual([words, true, '', true]);
  }
});
