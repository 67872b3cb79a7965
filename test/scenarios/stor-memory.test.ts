import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { useShared } from '../support/shared-service.ts';

/** What sync remembers: who writes it, what it saves, and that nothing is lost with it. */

const user = useShared('--http');
const folder = '.local/state/cloud/sync';

/** Runs commands, all of which must end well; gives the output of the last, and the number of its HEAD requests. */
async function runAll(...lines: string[][]): Promise<{ stdout: string; heads: number }> {
  let last = { stdout: '', heads: 0 };
  for (const words of lines) {
    const { code, stdout, stderr } = await user.here(['stor', ...words, '-v']);
    expect([words, code]).toEqual([words, 0]);
    last = { stdout, heads: [...stderr.matchAll(/^> HEAD /gm)].length };
  }
  return last;
}

function read(name: string): string {
  return readFileSync(join(user.home, name), 'utf8');
}

/** The lines of the memory that have a path. */
function readMemory(rel: string): unknown[][] {
  const lines = readdirSync(join(user.home, folder)).flatMap((name) => read(join(folder, name)).trim().split('\n'));
  return lines.map((line) => JSON.parse(line) as unknown[]).filter(([path]) => path === rel);
}

async function store(name: string, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const file = user.write(`${name}/${number % 2 === 0 ? 'd/' : ''}f${number}`, `content ${number}`);
    utimesSync(file, 1e9 + number, 1e9 + number);
  }
  expect((await user.here(['stor', 'put', '-r', '-T', name, name, '-q'])).code).toBe(0);
}

test.each([
  ['get -r', (name: string) => [['get', '-r', '-T', name, `${name}-here`]]],
  [
    'a plan and its run',
    (name: string) => [
      ['sync', `stor:${name}`, `${name}-here`, '--plan', `${name}.jsonl`],
      ['run', `${name}.jsonl`],
    ],
  ],
  [
    'a plan of what is there',
    (name: string) => [
      ['get', '-r', '-T', name, `${name}-here`],
      ['sync', `stor:${name}`, `${name}-here`, '--plan', `${name}.jsonl`],
    ],
  ],
])('%s writes the memory: sync asks about no object after it', async (title, lines) => {
  const name = `saves ${title}`.replaceAll(' ', '-');
  await store(name, 6);
  if (title.startsWith('a plan of')) {
    // The plan itself finds out, not what wrote the files.
    await runAll(...lines(name).slice(0, 1));
    rmSync(join(user.home, folder), { recursive: true });
  }
  const again = await runAll(...lines(name), ['sync', `stor:${name}`, `${name}-here`, '-n', '-o', 'name']);
  // One for the directory itself.
  expect([again.stdout, again.heads]).toEqual(['', 1]);
});

test('a plan that is run keeps what is remembered of other paths, and a dry run writes nothing', async () => {
  await store('kept', 6);
  await runAll(['sync', 'stor:kept', 'kept-here']);
  expect(readMemory('d/f0').length).toBeGreaterThan(0);
  user.write('kept-here/new', 'new');
  rmSync(join(user.home, 'kept-here/f1'));
  const files = readdirSync(join(user.home, folder)).map((name) => [name, read(join(folder, name))]);
  await runAll(['sync', 'stor:kept', 'kept-here', '-n']);
  expect(readdirSync(join(user.home, folder)).map((name) => [name, read(join(folder, name))])).toEqual(files);
});

test('after the tree went up and came back into the same directory nothing is sent, though times lost nanoseconds', async () => {
  await user.shell('mkdir fine; for i in 1 2 3; do echo $i > fine/$i; touch -d "2020-01-01 00:00:00.12345678$i" fine/$i; done');
  const { stdout } = await runAll(
    ['sync', 'fine', 'stor:fine'],
    ['get', '-r', '-T', 'fine', 'fine'],
    ['sync', 'fine', 'stor:fine', '-o', 'name'],
  );
  expect(stdout).toBe('');
});

test('an edit right after a run is seen, also where the clock of the file system is too coarse to tell', async () => {
  const file = user.write('coarse/clock', 'one');
  // On a busy machine a run may begin long after the file was written: then its time tells, and it is written once more.
  do {
    writeFileSync(file, 'one');
    expect((await user.here(['stor', 'sync', 'coarse', 'stor:coarse'])).code).toBe(0);
  } while (readMemory('clock').every(([, , , , , ctime]) => ctime !== '0'));
  const { mtimeNs } = statSync(file, { bigint: true });
  writeFileSync(file, 'two');
  await user.shell(`touch -d @${mtimeNs / 1_000_000_000n}.${String(mtimeNs % 1_000_000_000n).padStart(9, '0')} coarse/clock`);
  // As if the clock had not moved: what is remembered of the old content gets the ctime of the new one.
  for (const name of readdirSync(join(user.home, folder))) {
    const path = join(user.home, folder, name);
    const lines = readFileSync(path, 'utf8').trim().split('\n');
    const forged = lines.map((line) => {
      const known = JSON.parse(line) as unknown[];
      if (known[0] === 'clock' && typeof known[5] === 'string' && known[5] !== '0')
        known[5] = String(statSync(file, { bigint: true }).ctimeNs);
      return JSON.stringify(known);
    });
    writeFileSync(path, `${forged.join('\n')}\n`);
  }
  const { stdout } = await user.here(['stor', 'sync', 'coarse', 'stor:coarse', '-o', 'name']);
  expect([stdout, (await user.here(['stor', 'cat', 'coarse/clock'])).stdout]).toEqual(['clock\n', 'two']);
});

test('an edit of the same size and time that could not be sent is sent by the next run', async () => {
  const file = user.write('failed/f', 'one');
  utimesSync(file, 1e9, 1e9);
  await user.here(['stor', 'sync', 'failed', 'stor:failed', '-q']);
  writeFileSync(file, 'two');
  utimesSync(file, 1e9, 1e9);
  const hook = user.write(
    'unreadable.cjs',
    `const fs = require('node:fs'); const { openSync } = fs;
     fs.openSync = (path, ...rest) => { if (String(path).endsWith('failed/f')) throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'open', path }); return openSync(path, ...rest); };`,
  );
  const failed = await user.cloud(['stor', 'sync', 'failed', 'stor:failed'], { env: { NODE_OPTIONS: `--require "${hook}"` } });
  expect(failed.code).not.toBe(0);
  expect((await user.here(['stor', 'sync', 'failed', 'stor:failed', '-o', 'name'])).stdout).toBe('f\n');
});

test.each([
  ['its directory went away meanwhile', () => renameSync(join(user.home, folder), join(user.home, 'gone'))],
  [
    'a directory is in its place',
    () => {
      for (const name of readdirSync(join(user.home, folder))) {
        rmSync(join(user.home, folder, name));
        if (name.endsWith('.jsonl')) mkdirSync(join(user.home, folder, name));
      }
    },
  ],
])('a memory that is lost is no failure: %s', async (_, lose) => {
  await user.here(['stor', 'rm', '-r', '-y', '-q', 'lost']);
  rmSync(join(user.home, 'lost'), { recursive: true, force: true });
  rmSync(join(user.home, folder), { recursive: true, force: true });
  user.write('lost/f', 'f');
  let isSecond = false;
  const proxy = await startFaultProxy(
    user.local.storUrl,
    (method) => {
      if (method === 'PUT' && isSecond && existsSync(join(user.home, folder))) lose();
      return 'none';
    },
    1,
  );
  const words = ['stor', 'sync', 'lost', 'stor:lost', '-q', '--stor-url', proxy.url];
  await user.here(words);
  user.write('lost/g', 'g');
  isSecond = true;
  const { code, stderr } = await user.here(words);
  await proxy.close();
  rmSync(join(user.home, 'gone'), { recursive: true, force: true });
  expect([code, stderr]).toEqual([0, '']);
  expect((await user.here(['stor', 'cat', 'lost/g'])).stdout).toBe('g');
});
