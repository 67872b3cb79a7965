import { spawn } from 'node:child_process';
import { closeSync, ftruncateSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** Files with holes: they go up as what they read as, and come back with holes by --sparse. */

const user = useShared('--http');
/** Small, of several pieces, and large enough that another thread hashes; each with data at odd places and a hole at its end. */
const sizes = { small: 200_000, middle: 3_000_001, large: 20_000_000 };

function createSparse(name: string, size: number): void {
  const descriptor = openSync(user.write(name, ''), 'w');
  for (const at of [0, 4095, size / 3, size / 2, size * 0.75]) writeSync(descriptor, 'data', Math.floor(at));
  ftruncateSync(descriptor, size);
  closeSync(descriptor);
}

function read(name: string): Buffer {
  return readFileSync(join(user.home, name));
}

/** Bytes that a file has on the disk. */
function usage(name: string): number {
  return statSync(join(user.home, name)).blocks * 512;
}

beforeAll(async () => {
  for (const [name, size] of Object.entries(sizes)) createSparse(`files/${name}`, size);
  await user.here(['stor', 'put', '-r', 'files', 'files', '-q']);
});

function expectSparse(folder: string): void {
  for (const name of Object.keys(sizes)) {
    expect([name, read(`${folder}/${name}`).equals(read(`files/${name}`))]).toEqual([name, true]);
    expect([name, usage(`${folder}/${name}`) <= usage(`files/${name}`) + 65_536]).toEqual([name, true]);
  }
}

test.each([
  ['get', (to: string) => ['get', ...Object.keys(sizes).map((name) => `files/${name}`), to, '--sparse']],
  ['get -r', (to: string) => ['get', '-r', '-T', 'files', to, '--sparse']],
  ['sync', (to: string) => ['sync', 'stor:files', to, '--sparse']],
])('%s --sparse writes holes', async (name, line) => {
  const folder = `back ${name}`;
  user.write(`${folder}/keep`, '');
  expect(await user.here(['stor', ...line(folder), '-q'])).toMatchObject({ code: 0, stderr: '' });
  expectSparse(folder);
});

test('run --sparse does so too; without it files are written in full', async () => {
  await user.here(['stor', 'sync', 'stor:files', 'planned', '--plan', 'plan.jsonl', '-q']);
  expect(await user.here(['stor', 'run', 'plan.jsonl', '--sparse', '-q'])).toMatchObject({ code: 0 });
  expectSparse('planned');
  expect(await user.here(['stor', 'get', 'files/large', 'dense', '-q'])).toMatchObject({ code: 0 });
  expect([read('dense').equals(read('files/large')), usage('dense') >= sizes.large]).toEqual([true, true]);
});

test('a sparse download that was interrupted, and a file that is continued, end right', async () => {
  const words = ['stor', 'get', 'files/large', 'broken', '--sparse', '-q'];
  const child = spawn(join(user.home, 'bin/cloud'), [...words, '--bwlimit', '8M'], { cwd: user.home, env: user.env, stdio: 'ignore' });
  const ended = new Promise((resolve) => void child.on('close', resolve));
  const parts = (): string[] => readdirSync(user.home).filter((name) => name.endsWith('.part'));
  // The temporary file can be renamed or removed between the listing and the look at its size.
  const sizeOf = (name: string): number => statSync(join(user.home, name), { throwIfNoEntry: false })?.size ?? 0;
  const isUnderWay = (): boolean => parts().some((name) => sizeOf(name) > 5_000_000);
  while (!isUnderWay() && child.exitCode === null) await sleep(5);
  child.kill('SIGKILL');
  await ended;
  expect([child.signalCode, parts().length]).toEqual(['SIGKILL', 1]);
  expect((await user.here(words)).code).toBe(0);
  expect([read('broken').equals(read('files/large')), usage('broken') < 1_000_000, parts()]).toEqual([true, true, []]);
  rmSync(join(user.home, 'broken'));
  user.write('broken', read('files/large').subarray(0, 12_500_000));
  expect((await user.here([...words, '--continue'])).code).toBe(0);
  expect([read('broken').equals(read('files/large')), usage('broken') < 1_000_000]).toEqual([true, true]);
});

test('stdout has no holes', async () => {
  const { code, stderr } = await user.here(['stor', 'get', 'files/small', '--sparse']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('--sparse applies to files, not to stdout')]);
});
