import { execFileSync, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  futimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { report } from '../support/figures.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** A user who works in a directory, and a second client, while transfers are under way there: changes at random moments. */

const user = useLocal('--http');
const runs = scale(20, 200);
const timeout = scale(300_000, 1_800_000);
const large = randomBytes(3_000_000);
const mine = Buffer.from('written by the user');

beforeAll(async () => {
  user.write('large', large);
  await user.cloud(['stor', 'mkdir', 'd', '-q']);
  await user.cloud(['stor', 'put', 'large', 'd/large', '-q']);
});

/** Runs a command and, at a random moment of it, makes a change. Gives its exit code. */
async function disturb(
  words: readonly string[],
  longest: number,
  change: () => void | Promise<void>,
): Promise<{ code: number; stderr: string }> {
  const child = spawn(join(user.home, 'bin/cloud'), ['stor', ...words], {
    cwd: user.home,
    env: user.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const pieces: Buffer[] = [];
  child.stderr.on('data', (piece: Buffer) => pieces.push(piece));
  const ended = new Promise<number>((resolve) => void child.on('close', (code) => resolve(code ?? -1)));
  await sleep(randomInt(longest));
  await change();
  return { code: await ended, stderr: Buffer.concat(pieces).toString() };
}

/** Milliseconds that a command takes here; changes come within them. */
async function measure(words: readonly string[]): Promise<number> {
  const started = performance.now();
  expect((await disturb(words, 1, () => undefined)).code).toBe(0);
  return Math.ceil(performance.now() - started);
}

function reset(name: string): string {
  rmSync(join(user.home, name), { recursive: true, force: true });
  mkdirSync(join(user.home, name));
  return join(user.home, name);
}

/**
 * Waits until a program that had compared a file before it was changed has replaced it: Node.js has no call that compares and renames, so
 * that some microseconds lie between the two, and more if the system stops the program just there.
 */
async function outlastRename(): Promise<void> {
  await sleep(20);
}

/** Counts how runs ended; each must name what was left alone, or have done its work before or after the change. */
function tell(name: string, counts: Record<string, number>): void {
  const found = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  report('proof', { name, ours: found.join(', '), promise: 'nothing of the user is lost' });
}

test('get --no-clobber, and a file that appears', { timeout }, async () => {
  const counts = { 'left alone by name': 0, 'written before the change': 0 };
  const words = ['get', 'd/large', 'appears/large', '--no-clobber'];
  reset('appears');
  const longest = await measure(words);
  for (let run = 0; run < runs; run += 1) {
    const file = join(reset('appears'), 'large');
    let isMine = false;
    const { code, stderr } = await disturb(words, longest, () => {
      // As an editor that makes a new file: what is there already is not its own.
      isMine = !existsSync(file);
      if (isMine) writeFileSync(file, mine, { flag: 'wx' });
    });
    expect([isMine, readFileSync(file).equals(isMine ? mine : large)]).toEqual([isMine, true]);
    const isNamed = stderr.includes('large was created or changed meanwhile: left alone') || stderr.includes('large exists: left alone');
    expect([code, isNamed, readdirSync(join(user.home, 'appears'))]).toEqual([0, isMine, ['large']]);
    counts[isMine ? 'left alone by name' : 'written before the change'] += 1;
  }
  tell(`get --no-clobber with a file that appears meanwhile, ${runs} times`, counts);
});

test.each(['sync', 'run'])('%s down, and an edit of the same size and time', { timeout }, async (command) => {
  const counts = { 'left alone by name': 0, 'replaced before the edit': 0, 'edited before the comparison': 0 };
  const folder = `edited-${command}`;
  const prepare = async (): Promise<string[]> => {
    const file = join(reset(folder), 'large');
    writeFileSync(file, 'the old text, known');
    utimesSync(file, 1e9, 1e9);
    if (command === 'sync') return ['sync', 'stor:d', folder];
    expect((await user.cloud(['stor', 'sync', 'stor:d', folder, '--plan', `${folder}.jsonl`, '-q'])).code).toBe(0);
    return ['run', `${folder}.jsonl`];
  };
  const longest = await measure(await prepare());
  for (let run = 0; run < runs; run += 1) {
    const words = await prepare();
    const file = join(user.home, folder, 'large');
    let wasOld = false;
    const { code, stderr } = await disturb(words, longest, async () => {
      const descriptor = openSync(file, 'r+');
      try {
        if (readFileSync(descriptor).length !== mine.length) return;
        writeSync(descriptor, mine, 0, mine.length, 0);
        futimesSync(descriptor, 1e9, 1e9);
        await outlastRename();
        // Replaced while the editor had it open: the edit came too late, as with any program.
        wasOld = statSync(file).ino === fstatSync(descriptor).ino;
      } finally {
        closeSync(descriptor);
      }
    });
    const isMine = readFileSync(file).equals(mine);
    // What sync had not compared yet when it was edited is a file like any other, which it was asked to replace.
    const isReplacedByOrder = wasOld && command === 'sync' && code === 0;
    expect([isMine || !wasOld || isReplacedByOrder, isMine || readFileSync(file).equals(large)]).toEqual([true, true]);
    if (isMine) expect([code, stderr.includes('large')]).toEqual([1, true]);
    counts[isMine ? 'left alone by name' : wasOld ? 'edited before the comparison' : 'replaced before the edit'] += 1;
  }
  tell(`${command} down with an edit of the same size and time meanwhile, ${runs} times`, counts);
});

test('get --continue, interrupted or edited', { timeout }, async () => {
  const counts = {
    'as it was after a signal': 0,
    'edited and left alone by name': 0,
    'complete before the change': 0,
  };
  const words = ['get', 'd/large', 'continued/large', '--continue', '--bwlimit', '20M'];
  const beginning = large.subarray(0, 1_000_000);
  const prepare = (): string => {
    const file = join(reset('continued'), 'large');
    writeFileSync(file, beginning);
    return file;
  };
  prepare();
  const longest = await measure(words);
  for (let run = 0; run < runs; run += 1) {
    const file = prepare();
    const kind = run % 4;
    let wasBeginning = false;
    const edited = kind === 2 ? Buffer.concat([beginning, mine]) : mine;
    const change = async (pid: number): Promise<void> => {
      wasBeginning = statSync(file).size === beginning.length;
      if (kind < 2) process.kill(pid, kind === 0 ? 'SIGINT' : 'SIGKILL');
      else if (wasBeginning) {
        if (kind === 2) appendFileSync(file, mine);
        else renameSync(user.write('continued/.new', mine), file);
        await outlastRename();
        wasBeginning = readFileSync(file).equals(edited);
      }
    };
    const child = spawn(join(user.home, 'bin/cloud'), ['stor', ...words], {
      cwd: user.home,
      env: user.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const pieces: Buffer[] = [];
    child.stderr.on('data', (piece: Buffer) => pieces.push(piece));
    const ended = new Promise<number>((resolve) => void child.on('close', (code) => resolve(code ?? -1)));
    await sleep(randomInt(longest));
    if (child.exitCode === null && child.pid !== undefined) await change(child.pid);
    const code = await ended;
    const content = readFileSync(file);
    // The command may end between the look at the file and the edit, which is then one of the complete file.
    const editedAfter = kind === 2 ? Buffer.concat([large, mine]) : mine;
    const isEditedAfter = kind >= 2 && code === 0 && content.equals(editedAfter);
    if (content.equals(large) || isEditedAfter) counts['complete before the change'] += 1;
    else if (kind < 2) {
      expect(content.equals(beginning)).toBe(true);
      counts['as it was after a signal'] += 1;
    } else {
      expect([content.equals(edited), code, Buffer.concat(pieces).toString().includes('large')]).toEqual([true, 1, true]);
      counts['edited and left alone by name'] += 1;
    }
    // Also what was edited before the command saw the file is no beginning of the object, and stays.
    if (wasBeginning && kind >= 2) expect([kind, content.equals(edited) || isEditedAfter]).toEqual([kind, true]);
  }
  tell(`get --continue, interrupted or edited meanwhile, ${runs} times`, counts);
});

test('an upload in parts of a file that is replaced by one of the same size and time', { timeout }, async () => {
  const [first, second] = [Buffer.alloc(11_000_000, 'A'), Buffer.alloc(11_000_000, 'B')];
  const counts = { 'whole first': 0, 'whole second': 0, 'an error': 0 };
  const times = scale(20, 100);
  const place = (name: string, content: Buffer): string => {
    const file = user.write(name, content);
    utimesSync(file, 1e9, 1e9);
    return file;
  };
  const words = ['mpu', 'upload', 'swapped', 'swapped', '--part-size', '5M', '-q', '--bwlimit', '30M'];
  for (let run = 0; run < times; run += 1) {
    const file = place('swapped', first);
    const other = place('other', second);
    const child = spawn(join(user.home, 'bin/cloud'), words, { cwd: user.home, env: user.env, stdio: 'ignore' });
    const ended = new Promise<number | null>((resolve) => void child.on('close', resolve));
    await sleep(randomInt(900));
    renameSync(other, file);
    const code = await ended;
    if (code !== 0) {
      counts['an error'] += 1;
      continue;
    }
    const { bytes } = await user.cloud(['stor', 'get', 'swapped']);
    const isFirst = bytes.equals(first);
    expect([isFirst, bytes.equals(second)]).toEqual([isFirst, !isFirst]);
    counts[isFirst ? 'whole first' : 'whole second'] += 1;
  }
  tell(`upload in parts of a file replaced by one of the same size and time, ${times} times`, counts);
  expect(await user.json('mpu', 'list')).toEqual([]);
});

test.each([
  ['in parts', ['--part-size', '32M']],
  ['in one request with --delete', ['--part-size', '32M', '--delete', '--yes']],
])('sync up of a large file, %s, replaces nothing that another client stored meanwhile', { timeout: 120_000 }, async (_, options) => {
  rmSync(join(user.home, 'up'), { recursive: true, force: true });
  const file = user.write('up/large', '');
  truncateSync(file, 128 * 1024 * 1024);
  await user.cloud(['stor', 'rm', '-r', '-y', '-q', 'up']);
  await user.cloud(['stor', 'mkdir', '-q', 'up']);
  await user.cloud(['stor', 'put', '-', 'up/large', '-q'], { input: 'old' });
  let isStored = false;
  const proxy = await startFaultProxy(
    user.local.storUrl,
    (method) => {
      if (method === 'PUT' && !isStored) {
        isStored = true;
        execFileSync(join(user.home, 'bin/cloud'), ['stor', 'put', '-', 'up/large', '-q'], { env: user.env, input: 'new' });
      }
      return 'none';
    },
    1,
  );
  const { code, stderr } = await user.cloud(['stor', 'sync', 'up', 'stor:up', ...options, '--stor-url', proxy.url]);
  await proxy.close();
  expect([isStored, code, stderr.includes('up/large has changed meanwhile: left alone')]).toEqual([true, 1, true]);
  expect((await user.cloud(['stor', 'cat', 'up/large'])).stdout).toBe('new');
  expect(await user.json('mpu', 'list')).toEqual([]);
});

test('an upload that one service began is nothing to another, and is gone on with there', { timeout: 60_000 }, async () => {
  user.write('begun', randomBytes(16_000_000));
  const proxy = await startFaultProxy(user.local.storUrl, () => 'none', 1);
  const words = ['mpu', 'upload', 'begun', 'begun', '--part-size', '5M', '-q'];
  const there = ['--stor-url', proxy.url];
  const child = spawn(join(user.home, 'bin/cloud'), [...words, ...there, '--bwlimit', '6M'], {
    cwd: user.home,
    env: user.env,
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => void child.on('close', resolve));
  const notes = join(user.home, '.local/state/cloud/uploads');
  const noted = (): string[] => (existsSync(notes) ? readdirSync(notes).filter((name) => name.endsWith('.json')) : []);
  const isUnderWay = (): boolean => noted().some((name) => readFileSync(join(notes, name), 'utf8').includes('"etag"'));
  while (!isUnderWay() && child.exitCode === null) await sleep(10);
  child.kill('SIGKILL');
  await ended;
  const [before = ''] = noted();
  expect((await user.cloud(words)).code).toBe(0);
  expect(noted()).toEqual([before]);
  const moved = proxy.moved.up;
  expect((await user.cloud([...words, ...there])).code).toBe(0);
  expect(proxy.moved.up - moved).toBeLessThan(15_000_000);
  await proxy.close();
  expect(noted()).toEqual([]);
});
