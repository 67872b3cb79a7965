import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { type Outcome } from '../support/sandbox.ts';
import { useShared } from '../support/shared-service.ts';

/** What the user writes while an object is on its way to a file stays as the user wrote it. */

const user = useShared('--http');
const large = randomBytes(2_500_000);

beforeAll(async () => {
  user.write('source/small', 'of the service');
  user.write('source/large', large);
  await user.here(['stor', 'put', '-r', 'source', 'd', '-q']);
});

function read(name: string): string {
  return readFileSync(join(user.home, name), 'latin1');
}

function parts(folder: string): string[] {
  return readdirSync(join(user.home, folder)).filter((name) => name.endsWith('.part'));
}

/** Runs a command through a proxy that calls `change` when the request of this number for a body arrives. */
async function interfere(words: readonly string[], number: number, change: (target: string) => void, env = {}): Promise<Outcome> {
  let count = 0;
  const proxy = await startFaultProxy(
    user.local.storUrl,
    (method, _, target) => {
      // Listings come at any time: what is still to be done is counted ahead.
      if (method === 'GET' && /^\/demo\/stor\/d\/./.test(target) && ++count === number) change(target);
      return 'none';
    },
    1,
  );
  const outcome = await user.here(['stor', ...words, '--stor-url', proxy.url], { env });
  await proxy.close();
  expect(count).toBeGreaterThanOrEqual(number);
  return outcome;
}

test.each(['small', 'large'])('get --no-clobber leaves alone a %s file that appears during the download', async (name) => {
  const { code, stderr } = await interfere(['get', `d/${name}`, `one-${name}`, '--no-clobber'], 1, () => user.write(`one-${name}`, 'mine'));
  expect([code, read(`one-${name}`)]).toEqual([0, 'mine']);
  expect(stderr).toContain(`one-${name} was created or changed meanwhile: left alone`);
  expect(parts('.')).toEqual([]);
});

test('get -r --no-clobber names the file that appeared and leaves it alone', async () => {
  let name = '';
  const { code, stderr } = await interfere(['get', '-r', 'd', 'tree', '--no-clobber'], 1, (target) => {
    name = `tree/${basename(target)}`;
    user.write(name, 'mine');
  });
  expect([code, read(name)]).toEqual([0, 'mine']);
  expect(stderr).toContain(`${name} was created or changed meanwhile: left alone`);
});

test('where the file system has no hard links too', async () => {
  const hook = user.write(
    'no-links.cjs',
    `const fs = require('node:fs'); fs.linkSync = () => { throw Object.assign(new Error('EPERM'), { code: 'EPERM', syscall: 'link' }); };`,
  );
  const env = { NODE_OPTIONS: `--require "${hook}"` };
  const alone = await interfere(['get', 'd/large', 'linkless', '--no-clobber'], 1, () => undefined, env);
  expect([alone.code, read('linkless') === large.toString('latin1')]).toEqual([0, true]);
  rmSync(join(user.home, 'linkless'));
  const { code } = await interfere(['get', 'd/large', 'linkless', '--no-clobber'], 1, () => user.write('linkless', 'mine'), env);
  expect([code, read('linkless'), parts('.')]).toEqual([0, 'mine', []]);
});

/** Writes a file anew with the size and modification time that it had. */
function rewrite(name: string): string {
  const file = join(user.home, name);
  const { size, mtime } = statSync(file);
  const content = 'mine '.repeat(size).slice(0, size);
  writeFileSync(file, content, 'latin1');
  utimesSync(file, mtime, mtime);
  return content;
}

test('sync down leaves alone what was edited, or appeared, while the bytes came', async () => {
  user.write('down/small', 'old');
  user.write('down/large', 'old');
  let kept = '';
  const { code, stderr } = await interfere(['sync', 'stor:d', 'down'], 1, () => {
    kept = rewrite('down/small');
    appendFileSync(join(user.home, 'down/large'), ' and more');
  });
  expect([code, read('down/small'), read('down/large')]).toEqual([1, kept, 'old and more']);
  // One may be looked at before its bytes are asked for.
  const reasons = /down\/(small|large) (?:was created or changed meanwhile|has changed meanwhile): left alone/g;
  expect([...stderr.matchAll(reasons)].map(([, name = '']) => name).toSorted()).toEqual(['large', 'small']);
  const appeared = await interfere(['sync', 'stor:d', 'empty'], 1, () => user.write('empty/small', 'mine'));
  expect([appeared.code, read('empty/small')]).toEqual([5, 'mine']);
  expect(parts('down').concat(parts('empty'))).toEqual([]);
});

test('a plan leaves alone what was edited since it was written, and while it runs', async () => {
  user.write('planned/small', 'old');
  user.write('planned/large', 'old');
  await user.here(['stor', 'sync', 'stor:d', 'planned', '--plan', 'plan.jsonl']);
  const kept = rewrite('planned/small');
  let count = 0;
  const { code, stderr } = await interfere(['run', 'plan.jsonl'], 1, () => {
    count += 1;
    appendFileSync(join(user.home, 'planned/large'), ' and more');
  });
  expect([count, code, read('planned/small'), read('planned/large')]).toEqual([1, 1, kept, 'old and more']);
  expect(stderr).toContain('planned/small has changed meanwhile: left alone');
  expect(stderr).toContain('planned/large was created or changed meanwhile: left alone');
});

test.each(['SIGINT', 'SIGKILL'] as const)('a file that get --continue goes on with is as it was after %s', async (signal) => {
  const mine = large.subarray(0, 1_200_000);
  const file = user.write('half', mine);
  const words = ['stor', 'get', 'd/large', 'half', '--continue', '-q', '--bwlimit', '1M'];
  const child = spawn(join(user.home, 'bin/cloud'), words, { cwd: user.home, env: user.env, stdio: 'ignore' });
  const ended = new Promise((resolve) => void child.on('close', resolve));
  // The temporary file can be renamed or removed between the listing and the look at its size.
  const sizeOf = (name: string): number => statSync(join(user.home, name), { throwIfNoEntry: false })?.size ?? 0;
  const isUnderWay = (): boolean => parts('.').some((name) => sizeOf(name) > mine.length);
  while (!isUnderWay() && child.exitCode === null) await sleep(5);
  child.kill(signal);
  await ended;
  expect([child.signalCode, readFileSync(file).equals(mine)]).toEqual([signal, true]);
  expect((await user.here(['stor', 'get', 'd/large', 'half', '--continue', '-q'])).code).toBe(0);
  expect([readFileSync(file).equals(large), parts('.')]).toEqual([true, []]);
});

test('get --continue refuses a file that is longer than the object, and leaves alone one that is edited meanwhile', async () => {
  const longer = Buffer.concat([large, Buffer.from('and more')]);
  user.write('longer', longer);
  const refused = await user.here(['stor', 'get', 'd/large', 'longer', '--continue']);
  expect([refused.code, readFileSync(join(user.home, 'longer')).equals(longer)]).toEqual([1, true]);
  expect(refused.stderr).toContain(`longer has ${longer.length} bytes, /demo/stor/d/large only ${large.length}: left alone`);
  user.write('edited', large.subarray(0, 1000));
  const { code, stderr } = await interfere(['get', 'd/large', 'edited', '--continue'], 1, () =>
    appendFileSync(join(user.home, 'edited'), ' and more'),
  );
  expect([code, statSync(join(user.home, 'edited')).size]).toEqual([1, 1009]);
  expect(stderr).toContain('edited was created or changed meanwhile: left alone');
  // The whole object already: nothing is fetched.
  user.write('whole', large);
  expect((await user.here(['stor', 'get', 'd/large', 'whole', '--continue', '-q'])).code).toBe(0);
  expect([readFileSync(join(user.home, 'whole')).equals(large), existsSync(join(user.home, 'whole')), parts('.')]).toEqual([
    true,
    true,
    [],
  ]);
});

test.each([
  ['with another end', 'd/large', () => Buffer.concat([large.subarray(0, 900_000), randomBytes(100_000)])],
  ['with another beginning', 'd/large', () => Buffer.concat([randomBytes(100_000), large.subarray(100_000, 1_000_000)])],
  ['as long as the object', 'd/large', () => randomBytes(large.length)],
  ['of a small object', 'd/small', () => Buffer.from('mine')],
])('get --continue leaves alone a file that is not the beginning of the object: %s', async (name, object, create) => {
  const mine = create();
  const file = user.write(`unlike ${name}`, mine);
  const { code, stderr } = await user.here(['stor', 'get', object, file, '--continue']);
  expect([code, readFileSync(file).equals(mine)]).toEqual([1, true]);
  expect(stderr).toContain(`${file} is not the beginning of /demo/stor/${object}: left alone`);
  expect(stderr).toContain('hint: without --continue the file is replaced');
  expect(parts('.')).toEqual([]);
});

test.each([
  ['get small', (file: string) => ['get', 'd/small', file], 'small'],
  ['get large', (file: string) => ['get', 'd/large', file], 'large'],
  ['sync', (file: string) => ['sync', 'stor:d', file.replace(/small$/, '')], 'small'],
])('%s keeps the permissions of the file that it replaces: a private file is never open to others', async (_, words, name) => {
  for (const mode of [0o600, 0o755, 0o440]) {
    const folder = join(user.home, `kept-${mode}`);
    const file = join(folder, name);
    mkdirSync(folder);
    writeFileSync(file, 'earlier');
    chmodSync(file, mode);
    expect((await user.here(['stor', ...words(file), '-q'])).code).toBe(0);
    expect([statSync(file).size > 'earlier'.length, (statSync(file).mode & 0o777).toString(8)]).toEqual([true, mode.toString(8)]);
    rmSync(folder, { recursive: true });
  }
});
