import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** Files and directories that attributes of the file system protect (chattr): one clear line, and nothing half done. */

const user = useShared('--http');
const sealed: string[] = [];

/** Attributes need root, and a file system that has them. */
function hasAttributes(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'cloud-chattr-'));
  const { status } = spawnSync('chattr', ['+a', folder]);
  if (status === 0) execFileSync('chattr', ['-a', folder]);
  rmSync(folder, { recursive: true });
  return status === 0;
}

function seal(name: string, attribute: 'a' | 'i'): string {
  const path = join(user.home, name);
  execFileSync('chattr', [`+${attribute}`, path]);
  sealed.push(path);
  return path;
}

function unseal(): void {
  for (const path of sealed.splice(0)) execFileSync('chattr', ['-a', '-i', path]);
}

function parts(folder: string): { name: string; size: number }[] {
  const names = readdirSync(join(user.home, folder)).filter((name) => name.startsWith('.cloud-') || name.endsWith('.part'));
  return names.map((name) => ({ name, size: statSync(join(user.home, folder, name)).size }));
}

beforeAll(async () => {
  user.write('source/f', 'new');
  user.write('source/large', Buffer.alloc(3_000_000, 'x'));
  await user.here(['stor', 'put', '-r', 'source', 'd', '-q']);
});
afterEach(unseal);

describe.skipIf(!hasAttributes())('with attributes of the file system', () => {
  test.each([
    ['append-only', 'a', ['get', 'd/f']],
    ['append-only', 'a', ['get', 'd/large']],
    ['append-only', 'a', ['get', 'd/large', '--continue']],
    ['immutable', 'i', ['get', 'd/f']],
    ['immutable', 'i', ['get', 'd/large']],
  ] as const)('an %s file (chattr +%s) is left alone by %j', async (_, attribute, words) => {
    const file = user.write('file/f', words.includes('--continue' as never) ? 'xxx' : 'old');
    const old = readFileSync(file, 'utf8');
    seal('file/f', attribute);
    const { code, stderr } = await user.here(['stor', ...words, file]);
    expect([code, stderr.split('\n')[0]]).toEqual([1, expect.stringContaining(`${file} cannot be replaced: operation not permitted`)]);
    expect(stderr).toContain(`lsattr ${file}`);
    expect([readFileSync(file, 'utf8'), parts('file')]).toEqual([old, []]);
    unseal();
    rmSync(join(user.home, 'file'), { recursive: true });
  });

  test('in trees each is named, and the others come', async () => {
    for (const [folder, words] of [
      ['got', ['get', '-r', '-T', 'd', 'got']],
      ['synced', ['sync', 'stor:d', 'synced']],
    ] as const) {
      user.write(`${folder}/f`, 'old!');
      const file = seal(`${folder}/f`, 'a');
      const { code, stderr } = await user.here(['stor', ...words]);
      expect([code, stderr]).toEqual([5, expect.stringContaining(`${file} cannot be replaced: operation not permitted`)]);
      expect([readFileSync(file, 'utf8'), readdirSync(join(user.home, folder)).toSorted()]).toEqual(['old!', ['f', 'large']]);
    }
  });

  test('a file that sync --delete may not remove is named and stays', async () => {
    user.write('extra/mine', 'mine');
    const file = seal('extra/mine', 'i');
    const { code, stderr } = await user.here(['stor', 'sync', 'stor:d', 'extra', '--delete', '--yes']);
    expect([code, stderr]).toEqual([5, expect.stringContaining(`${file}: operation not permitted`)]);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  test.each([
    ['get', ['get', 'd/f', 'log/']],
    ['get --no-clobber', ['get', 'd/large', 'log/', '--no-clobber']],
    ['get -r', ['get', '-r', '-T', 'd', 'log']],
    ['sync', ['sync', 'stor:d', 'log']],
    ['sync --plan', ['sync', 'source', 'stor:d', '--plan', 'log/plan']],
  ])('%s into a directory to which files can only be added writes nothing', async (_, words) => {
    mkdirSync(join(user.home, 'log'));
    const folder = seal('log', 'a');
    const { code, stderr } = await user.here(['stor', ...words]);
    const left = parts('log');
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(`${folder} is an append-only directory: only the empty`);
    expect(stderr).toContain(`chattr -a ${folder}`);
    // The system lets nobody remove these before the attribute is gone.
    for (const { name, size } of left) expect([stderr.includes(name), size]).toEqual([true, 0]);
    expect(readdirSync(folder)).toEqual(left.map(({ name }) => name));
    unseal();
    rmSync(folder, { recursive: true });
  });

  test('an immutable directory is named', async () => {
    mkdirSync(join(user.home, 'shut'));
    const folder = seal('shut', 'i');
    const { code, stderr } = await user.here(['stor', 'get', 'd/f', 'shut/']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${folder}/f: operation not permitted`)]);
    expect(readdirSync(folder)).toEqual([]);
  });
});
