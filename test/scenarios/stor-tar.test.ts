import { mkdirSync, symlinkSync, utimesSync, writeFileSync, chmodSync, linkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { archiveEnd, encodeHeader, paddingOf } from '../../src/transfer/tar/header.ts';
import { type Outcome } from '../support/sandbox.ts';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');

/** Writes with GNU tar what another program would write, and lists what it finds in a tree: names, sizes, times in nanoseconds, modes, content. */
const list = (folder: string): string =>
  `(cd ${folder} && find . -type f -printf '%p %s %T@ %m ' -exec md5sum '{}' \\; | sed 's/  .*//' | sort) && (cd ${folder} && find . -type d -printf '%p %T@ %m\\n' | sort)`;

function makeTree(root: string): void {
  const deep = join(root, 'a b/ü', 'x'.repeat(120));
  mkdirSync(deep, { recursive: true });
  mkdirSync(join(root, 'empty'));
  writeFileSync(join(root, 'a b/ü/f.txt'), 'text');
  writeFileSync(join(deep, 'deep'), 'deep');
  writeFileSync(join(root, 'large'), Buffer.alloc(9 * 1024 * 1024 + 17, 'large'));
  writeFileSync(join(root, 'none'), '');
  utimesSync(join(root, 'none'), '-152625600.25', '-152625600.25');
  utimesSync(join(root, 'large'), '15032385535', '15032385535');
  chmodSync(join(root, 'large'), 0o751);
  chmodSync(join(root, 'a b/ü/f.txt'), 0o600);
  linkSync(join(root, 'a b/ü/f.txt'), join(root, 'hard'));
  symlinkSync('a b/ü/f.txt', join(root, 'link'));
  chmodSync(join(root, 'empty'), 0o710);
  chmodSync(join(root, 'a b'), 0o750);
  for (const folder of ['empty', 'a b/ü', 'a b', ''])
    utimesSync(join(root, folder), '1000000000.5', `${1_100_000_000 + folder.length}.125`);
}

test('a tree by GNU tar, stored, and back by GNU tar is the same: names, sizes, times, modes of files and directories, links as files', async () => {
  makeTree(join(user.home, 'tree'));
  const put = await user.shell('set -o pipefail; tar c --format=pax --sort=name tree | cloud stor put --untar - kept/trees -p --modes -q');
  expect([put.code, put.stderr]).toEqual([0, '']);
  const got = await user.shell('mkdir out && set -o pipefail; cloud stor get -r kept/trees/tree --tar -q | tar xp -C out');
  expect([got.code, got.stderr.replaceAll(/^tar: .*(?:in the future|implausibly old).*\n/gm, '')]).toEqual([0, '']);
  // The link is a file of the same content there.
  const before = await user.shell(
    `touch -r tree when; rm tree/link; cp -p 'tree/a b/ü/f.txt' tree/link; touch -r when tree; ${list('tree')}`,
  );
  expect((await user.shell(list('out/tree'))).stdout).toBe(before.stdout);
  // What is in a directory may come before it.
  const late = await user.shell(
    `mkdir late && set -o pipefail; (cd tree && find . -mindepth 1 -depth -print0 | tar c --format=pax --no-recursion --null -T -) | cloud stor put --untar - late --modes -q && cloud stor get -r -T late --tar -q | tar xp -C late && touch -r tree late`,
  );
  expect(late.code).toBe(0);
  expect((await user.shell(list('late'))).stdout).toBe(before.stdout);
  const stats = await user.json<{ etag: string }[]>('stor', 'stat', 'kept/trees/tree/link', 'kept/trees/tree/a b/ü/f.txt');
  expect(new Set(stats.map(({ etag }) => etag)).size).toBe(1);
});

/** An archive that GNU tar makes. */
const archive = async (words: string): Promise<Buffer> => (await user.shell(`tar c ${words}`)).bytes;

const untar = (input: Buffer, ...words: string[]): Promise<Outcome> => user.here(['stor', 'put', '--untar', '-', ...words], { input });

test('the own archive stored again is the same tree; other formats, -T, filters, dry runs and --no-clobber', async () => {
  const own = await user.here(['stor', 'get', '-r', '-T', 'kept/trees/tree', '--tar', '-q']);
  const again = await untar(own.bytes, 'again', '--modes', '-q');
  expect([own.code, own.stderr, again.code, again.stderr]).toEqual([0, '', 0, '']);
  const difference = await user.here(['stor', 'diff', 'stor:kept/trees/tree', 'stor:again', '--checksum', '-j']);
  // Links had the content type of what they led to.
  const changed = (JSON.parse(difference.stdout) as { rel: string; reason: string }[]).map(({ rel, reason }) => `${rel} ${reason}`);
  expect([difference.code, changed]).toEqual([0, ['hard headers', 'link headers']]);
  for (const format of ['gnu', 'v7', 'ustar'])
    expect(await untar(await archive(`--format=${format} -C tree none hard`), format, '-q'), format).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    });
  const chosen = await user.json<{ path: string }[]>('stor', 'find', 'gnu', '--type', 'f');
  expect(chosen.map(({ path }) => path)).toEqual(['/demo/stor/gnu/hard', '/demo/stor/gnu/none']);
  const dry = await untar(await archive('tree'), 'dry', '-n', '--exclude', 'large', '-j');
  const rehearsed = (JSON.parse(dry.stdout) as { to: string }[]).map(({ to }) => to.replace('/demo/stor/dry/', ''));
  expect(rehearsed).toEqual(expect.arrayContaining(['tree', 'tree/empty', 'tree/none', 'tree/a b/ü/f.txt']));
  expect(rehearsed).not.toContain('tree/large');
  expect((await user.here(['stor', 'ls', 'dry'])).code).toBe(3);
  await user.json('stor', 'mkdir', 'taken', 'taken/none', 'taken/tree');
  for (const option of ['-n', '-q']) {
    const refused = await untar(await archive('-C tree none hard'), 'taken', option);
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('/demo/stor/taken/none is a directory')]);
  }
  const inside = await untar(await archive('tree/none'), 'taken', '-n', '-j');
  expect(JSON.parse(inside.stdout)).toEqual([{ action: 'store', from: 'tree/none', to: '/demo/stor/taken/tree/none' }]);
  user.write('tree/none', 'other\n');
  await untar(await archive('-C tree none'), 'gnu', '--no-clobber', '-q');
  expect((await user.here(['stor', 'cat', 'gnu/none'])).stdout).toBe('');
  const deep = await user.here(['stor', 'get', '-r', 'kept/trees/tree', '--tar', '-q', '--include', 'deep']);
  const picked = await user.shell('tar t --quoting-style=literal', { input: deep.bytes });
  expect(picked.stdout).toBe(`tree/a b/ü/${'x'.repeat(120)}/deep\n`);
});

/** A file of an archive that somebody made. */
function file(name: string, content: string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([encodeHeader({ type: 'file', name, size: bytes.length, mtime: 0n, mode: 0o644 }), bytes, paddingOf(bytes.length)]);
}

test('a hostile archive is refused in one line, and nothing is outside of the target', async () => {
  await user.json('stor', 'mkdir', 'inside');
  const huge = encodeHeader({ type: 'file', name: 'huge', size: 2 ** 50, mtime: 0n, mode: 0o644 });
  const archives: [Buffer, string][] = [
    [
      Buffer.concat([file('fine', 'fine'), file('../escaped', 'x'), archiveEnd]),
      'stdin has the name "../escaped", which contains ".." and would be outside the target',
    ],
    [Buffer.concat([file('/demo/stor/escaped', 'x'), archiveEnd]), 'which begins with a slash'],
    [Buffer.concat([file('twice', '1'), file('twice', '2'), archiveEnd]), 'stdin has "twice" more than once'],
    [Buffer.concat([huge, Buffer.alloc(9 * 1024 * 1024)]), 'stdin is truncated'],
    [file('cut', 'x'.repeat(3_000_000)).subarray(0, 2_000_000), 'stdin is truncated'],
    [Buffer.alloc(3 * 1024 * 1024), 'stdin has too much padding after its end'],
    [Buffer.from('no archive at all'.repeat(100)), 'stdin is not a tar archive'],
  ];
  for (const [archive, message] of archives) {
    const { code, stdout, stderr } = await user.here(['stor', 'put', '--untar', '-', 'inside', '-q'], { input: archive });
    expect([code, stdout, stderr.trimEnd().split('\n').length]).toEqual([1, '', 1]);
    expect(stderr).toContain(message);
  }
  const all = await user.json<{ path: string }[]>('stor', 'find', 'stor:', '--name', 'escaped');
  expect(all).toEqual([]);
  const kept = await user.json<{ path: string }[]>('stor', 'find', 'inside', '--type', 'f');
  expect(kept.map(({ path }) => path).toSorted()).toEqual(['/demo/stor/inside/fine', '/demo/stor/inside/twice']);
  expect((await user.here(['stor', 'cat', 'inside/twice'])).stdout).toBe('1');
});

test('what makes no sense is refused, and what vanishes is told', async () => {
  for (const words of [
    ['get', 'kept', '--tar'],
    ['get', '-r', 'kept', '--tar', '--sparse'],
    ['put', '-r', '--untar', 'x', 'y'],
    ['put', '--untar', '--if-match', 'x', 'x', 'y'],
  ])
    expect((await user.here(['stor', ...words])).code).toBe(2);
  expect((await user.here(['stor', 'get', '-r', 'kept', 'no-such', '--tar'])).code).toBe(3);
  expect((await user.here(['stor', 'put', '--untar', 'no-such.tar', 'y'])).code).toBe(2);
  const limited = await untar(await archive('tree'), 'limited', '--max-size', '1M', '-q');
  expect([limited.code, limited.stderr]).toEqual([1, expect.stringContaining('more than 1048576 bytes (--max-size)')]);
});
