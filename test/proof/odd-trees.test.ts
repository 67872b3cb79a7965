import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

/** What held when trees and transfers were first tried: names, sizes, and commands at the same time. */

const user = useLocal('--http');

/** Names that some layer could read as something else. */
const names = [
  '-',
  '--',
  '-rf',
  '--help',
  '-dash',
  '~',
  '~root',
  '$HOME',
  '`id`',
  '$(id)',
  '; rm -rf x',
  '| cat',
  '&',
  '> out',
  '< in',
  '*',
  '?',
  '[a-z]',
  '{a,b}',
  '!',
  '#',
  '#fragment',
  '?query=1',
  '%',
  '%41',
  '%2F',
  '%00',
  '%zz',
  '+',
  'a+b',
  'a b',
  ' a',
  'a ',
  ' ',
  '\t',
  'new\nline',
  'carriage\rreturn',
  '\u001b[31mred',
  '\u007f',
  'back\\slash',
  '\\',
  `'`,
  '"',
  `'"'`,
  'a:b',
  'stor:x',
  'C:',
  '.a',
  '..a',
  '...',
  'a.',
  'Grüße',
  '\u00e9',
  'e\u0301',
  '寿司',
  '😀',
  '👩‍👩‍👧',
  '\u202Ertl',
  'ﬁ',
  'İ',
  '\uFEFFbom',
  '\uFFFD',
  'x'.repeat(255),
  'ü'.repeat(127),
];

function createTree(root: string, files: readonly (readonly [string, Uint8Array])[]): void {
  for (const [name, content] of files) {
    const file = join(user.home, root, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    utimesSync(file, 1e9, 1e9);
  }
}

function readTree(root: string): Map<string, string> {
  const entries = readdirSync(join(user.home, root), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [path.slice(join(user.home, root).length + 1), readFileSync(path, 'latin1')]));
}

async function run(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await user.cloud(['stor', ...words]);
  expect([words, code, stderr]).toEqual([words, 0, '']);
  return stdout;
}

test(`${names.length} names, as files and as directories, go up and come back by each command`, { timeout: 120_000 }, async () => {
  createTree(
    'names',
    names.flatMap((name, number) => [
      [`files/${name}`, Buffer.from(`file ${number}`)] as const,
      [`directories/${name}/f`, Buffer.from(`below ${number}`)] as const,
    ]),
  );
  const wanted = readTree('names');
  expect(wanted.size).toBe(names.length * 2);
  await run('put', '-r', '-q', 'names', 'names');
  await run('get', '-r', '-q', 'names', 'got');
  expect(readTree('got')).toEqual(wanted);
  expect(await run('sync', 'names', 'stor:names', '-o', 'name')).toBe('');
  await run('sync', '-q', 'names', 'stor:synced');
  await run('sync', '-q', 'stor:synced', 'back');
  expect(readTree('back')).toEqual(wanted);
  await run('cp', '-r', '-T', '-q', 'names', 'copied');
  await run('mv', '-q', 'copied', 'moved');
  expect(await run('diff', 'names', 'stor:moved', '-o', 'name')).toBe('');
  await run('rm', '-r', '-y', '-q', 'moved');
});

/** Sizes at which something changes on the way: small files, pieces, memory of the thread, ranges, parts. */
const edges = [1, 4096, 16_384, 65_536, 262_144, 1_048_576, 3 * 1_048_576, 4 * 1_048_576, 5 * 1_048_576, 10 * 1_048_576, 16 * 1_048_576];
const sizes = [0, ...edges.flatMap((size) => [size - 1, size, size + 1])].filter((size, at, all) => all.indexOf(size) === at);

test(`${sizes.length} sizes around what changes on the way come back the same`, { timeout: 180_000 }, async () => {
  createTree(
    'sizes',
    sizes.map((size) => [String(size), randomBytes(size)]),
  );
  await run('put', '-r', '-q', 'sizes', 'sizes');
  await run('get', '-r', '-q', 'sizes', 'sizes-back');
  expect(readTree('sizes-back')).toEqual(readTree('sizes'));
  for (const size of sizes.filter((each) => each > 5_000_000 && each < 11_000_000)) {
    await run('put', '-q', `sizes/${size}`, 'one');
    expect((await user.cloud(['mpu', 'upload', `sizes/${size}`, 'parts', '--part-size', '5M', '-q'])).code).toBe(0);
    for (const object of ['one', 'parts'])
      expect((await user.cloud(['stor', 'get', object])).bytes.equals(readFileSync(join(user.home, 'sizes', String(size))))).toBe(true);
  }
});

test(
  'syncs at the same time, also in opposite directions, leave each file whole and in one of its versions',
  { timeout: 120_000 },
  async () => {
    const files = (version: string) =>
      Array.from({ length: 40 }, (_, number) => [`d${number % 4}/f${number}`, Buffer.from(`${version} ${number}`)] as const);
    createTree('here', files('here'));
    createTree('there', files('there'));
    await run('put', '-r', '-q', 'there', 'both');
    for (const lines of [
      [
        ['sync', 'here', 'stor:both', '-q'],
        ['sync', 'stor:both', 'here', '-q'],
      ],
      [
        ['sync', 'here', 'stor:both', '-q'],
        ['sync', 'here', 'stor:both', '-q'],
        ['sync', 'there', 'stor:both', '-q'],
      ],
    ]) {
      const ended = await Promise.all(lines.map((words) => user.cloud(['stor', ...words])));
      // What the other has changed meanwhile is left alone, by name.
      for (const { code, stderr } of ended)
        if (code !== 0) expect(stderr).toMatch(/left alone|changed meanwhile|while it was read|vanished/);
      await run('get', '-r', '-T', '-q', 'both', 'seen');
      for (const root of ['here', 'seen']) {
        const tree = readTree(root);
        expect(tree.size).toBe(40);
        for (const [name, content] of tree) expect(content).toMatch(new RegExp(`^(here|there) ${name.slice(name.indexOf('f') + 1)}$`));
      }
    }
  },
);
