import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { InterruptedError } from '../../../src/base/errors.ts';
import { listWay } from '../../../src/transfer/local/folders.ts';
import { giveName, isOwnUnfinished, removeStale } from '../../../src/transfer/local/partial-file.ts';
import { nameBriefly } from '../../../src/transfer/local/unfinished-name.ts';
import { hashFile } from '../../../src/transfer/local/walk.ts';
import { writeWhole } from '../../../src/transfer/local/whole-file.ts';
import { findWriteTarget } from '../../../src/transfer/local/write-target.ts';

const folder = mkdtempSync(join(tmpdir(), 'local-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const processes = { own: process.pid, isAlive: () => true };

test('the directories between a root and a file, also where the root is that of the system', () => {
  expect(listWay('/a/b/c/d', 'b/c/d')).toEqual(['/a/b', '/a/b/c']);
  expect(listWay('/b/c', 'b/c')).toEqual(['/b']);
  expect(listWay('/a', '')).toEqual([]);
  expect(() => listWay('/a/b', 'c')).toThrow('/a/b is not at c of a tree');
});

test('the reading of a long file for its MD5 ends when it is interrupted', async () => {
  const file = join(folder, 'long');
  writeFileSync(file, '');
  truncateSync(file, 8 * 1024 ** 3);
  const interruption = new AbortController();
  setTimeout(() => interruption.abort(), 20);
  await expect(hashFile(file, interruption.signal)).rejects.toThrow(InterruptedError);
});

test('a file whose name is as long as can be is written, and what is unfinished of it is recognised as that', async () => {
  const name = `${'n'.repeat(236)}.txt`;
  const unfinished: boolean[] = [];
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('whole');
    for (const each of readdirSync(folder)) if (each.endsWith('.part')) unfinished.push(isOwnUnfinished(join(folder, each)));
  }
  await writeWhole(join(folder, name), body(), { signal: undefined, processes });
  expect([readFileSync(join(folder, name), 'utf8'), unfinished]).toEqual(['whole', [true]]);
});

test('what a killed process has left of small files goes when another file of the directory is complete', () => {
  const file = join(folder, 'small');
  const left = nameBriefly(file, processes);
  expect(nameBriefly(join(folder, 'other'), processes)).toBe(left);
  writeFileSync(left, 'left');
  writeFileSync(join(folder, '.cloud-of-others.part'), 'theirs');
  expect(isOwnUnfinished(left)).toBe(true);
  removeStale(file, processes);
  expect([existsSync(left), existsSync(join(folder, '.cloud-of-others.part'))]).toEqual([false, true]);
});

test('a name that was reserved is free again when the finished file cannot get it', () => {
  // A directory cannot be linked, as on a file system without hard links, nor renamed to a file.
  const unfinished = join(folder, 'unfinished');
  mkdirSync(unfinished);
  expect(() => giveName(unfinished, join(folder, 'target'), 'nothing')).toThrow('ENOTDIR');
  expect(existsSync(join(folder, 'target'))).toBe(false);
});

test.runIf(process.getuid?.() === 0)('a link of another user in a directory that everybody can write to is not followed', () => {
  const shared = join(folder, 'shared');
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  symlinkSync(join(folder, 'elsewhere'), join(shared, 'planted'));
  symlinkSync(join(folder, 'elsewhere'), join(shared, 'own'));
  lchownSync(join(shared, 'planted'), 65_534, 65_534);
  expect(() => findWriteTarget(join(shared, 'planted'))).toThrow('is a symbolic link of another user');
  expect(findWriteTarget(join(shared, 'own'))).toEqual({ kind: 'file', file: join(folder, 'elsewhere') });
});
