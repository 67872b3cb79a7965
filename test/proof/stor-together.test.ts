import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readFileSync, readlinkSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { useLocal } from '../support/sandbox.ts';

/** What several processes do at the same time, and what one that is interrupted leaves. */

const user = useLocal('--http');
const large = randomBytes(3_000_000);

beforeAll(async () => {
  user.write('large', large);
  await user.cloud(['stor', 'put', '-q', 'large', 'large']);
});

function start(...words: string[]): ChildProcess {
  return spawn(join(user.home, 'bin/cloud'), words, { cwd: user.home, env: user.env, stdio: ['pipe', 'ignore', 'pipe'] });
}

function waitForEnd(child: ChildProcess): Promise<{ code: number | null; stderr: string }> {
  const pieces: Buffer[] = [];
  child.stderr?.on('data', (piece: Buffer) => pieces.push(piece));
  return new Promise((resolve) => void child.on('close', (code) => resolve({ code, stderr: Buffer.concat(pieces).toString() })));
}

function unfinished(folder: string): string[] {
  return existsSync(join(user.home, folder)) ? readdirSync(join(user.home, folder)).filter((name) => name.endsWith('.part')) : [];
}

async function waitFor(holds: () => boolean): Promise<void> {
  const end = Date.now() + 20_000;
  while (!holds() && Date.now() < end) await sleep(5);
  expect(holds()).toBe(true);
}

test('two that write the same file at once: each ends well, and the file is never half', async () => {
  await user.shell('mkdir both');
  const first = start('stor', 'get', 'large', 'both/large', '-q', '--bwlimit', '2M');
  await waitFor(() => unfinished('both').length === 1);
  const slow = start('stor', 'get', 'large', 'both/large', '-q', '--bwlimit', '500K');
  await waitFor(() => unfinished('both').length === 2 || existsSync(join(user.home, 'both/large')));
  expect(await waitForEnd(first)).toEqual({ code: 0, stderr: '' });
  expect(statSync(join(user.home, 'both/large')).size).toBe(large.length);
  slow.kill('SIGKILL');
  await waitForEnd(slow);
  expect(readFileSync(join(user.home, 'both/large')).equals(large)).toBe(true);
});

test('what a dead process left is gone on with, what a living one writes is not', async () => {
  await user.shell('mkdir left');
  const dead = start('stor', 'get', 'large', 'left/large', '-q', '--bwlimit', '2M');
  await waitFor(() => unfinished('left').some((name) => statSync(join(user.home, 'left', name)).size > 1_000_000));
  dead.kill('SIGKILL');
  await waitForEnd(dead);
  const alive = start('stor', 'get', 'large', 'left/large', '-q', '--bwlimit', '1M');
  const [before = ''] = unfinished('left');
  await waitFor(() => unfinished('left').length === 1 && unfinished('left')[0] !== before);
  expect((await user.cloud(['stor', 'get', 'large', 'left/large', '-q'])).code).toBe(0);
  expect(await waitForEnd(alive)).toEqual({ code: 0, stderr: '' });
  expect(readFileSync(join(user.home, 'left/large')).equals(large)).toBe(true);
  expect(unfinished('left')).toEqual([]);
});

test('what went into a pipe is not sent again: its reader gets no byte twice, and the damage is an error', async () => {
  let left = 1;
  const proxy = await startFaultProxy(user.local.storUrl, (method) => (method === 'GET' && left-- > 0 ? 'flip down' : 'none'), 1);
  const { stdout, stderr } = await user.shell(
    `mkfifo pipe; cat pipe > through & cloud stor get large pipe --stor-url ${proxy.url} -q; echo $?; wait; wc -c < through`,
  );
  await proxy.close();
  const [code, size] = stdout.split('\n');
  expect([code, stderr]).toEqual(['1', expect.stringContaining('damaged')]);
  // What was still to be written when the damage was found may be missing at the end.
  expect(Number(size)).toBeGreaterThan(0);
  const through = readFileSync(join(user.home, 'through'));
  expect(through.filter((byte, at) => byte !== large[at]).length).toBeLessThanOrEqual(1);
});

test('a file that --continue was to go on with is as it was when that fails', async () => {
  user.write('mine', 'mine');
  const proxy = await startFaultProxy(user.local.storUrl, (method) => (method === 'GET' ? 'flip down' : 'none'), 1);
  const words = ['stor', 'get', 'large', 'mine', '--continue', '--retries', '1', '-q', '--stor-url', proxy.url];
  // One that has another name too is not gone on with, and stays as it is as well.
  for (const prepare of ['', 'ln mine other', 'mv mine target; ln -s target mine']) {
    await user.shell(prepare);
    expect((await user.cloud(words)).code).toBe(1);
    expect(readFileSync(join(user.home, 'mine'), 'utf8')).toBe('mine');
  }
  await proxy.close();
  expect(unfinished('.')).toEqual([]);
});

/** Interrupts a command that has got some input and waits for more of it. */
async function interruptIdle(line: string, input: Uint8Array): Promise<NodeJS.Signals | null> {
  const child = start(...line.split(' '));
  const ended = new Promise<NodeJS.Signals | null>((resolve) => void child.on('exit', (_, signal) => resolve(signal)));
  child.stdin?.on('error', () => undefined);
  child.stdin?.write(input);
  await sleep(3000);
  child.kill('SIGINT');
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
  const signal = await ended;
  clearTimeout(late);
  child.stdin?.destroy();
  return signal;
}

test('Ctrl-C ends what waits for more of a pipe, and the parts that were sent are given up', async () => {
  const parts = Buffer.alloc(40 * 1024 * 1024);
  const none = Buffer.alloc(0);
  const signals = await Promise.all([
    interruptIdle('stor put - idle', parts),
    interruptIdle('mpu upload - idle', none),
    interruptIdle('stor run -', none),
    interruptIdle('api PUT /demo/stor/x --input -', none),
    interruptIdle('stor find large --exec sleep${IFS}60', none),
  ]);
  expect(signals).toEqual(Array.from({ length: 5 }, () => 'SIGINT'));
  expect(await user.json('mpu', 'list')).toEqual([]);
});

test.each([
  ['grew', (file: string) => appendFileSync(file, 'more')],
  ['shrank', (file: string) => truncateSync(file, 1_000_000)],
  ['was changed', (file: string) => writeFileSync(file, 'another', { flag: 'r+' })],
])('a file that %s while it is read is told, and nothing is stored', async (how, change) => {
  const name = how.replace(' ', '-');
  const file = user.write(name, large);
  let isSending = false;
  const proxy = await startFaultProxy(user.local.storUrl, (method) => ((isSending ||= method === 'PUT'), 'none'), 1);
  const put = start('stor', 'put', name, `put-${name}`, '-q', '--bwlimit', '2M', '--stor-url', proxy.url);
  await waitFor(() => isSending);
  change(file);
  const { code, stderr } = await waitForEnd(put);
  await proxy.close();
  expect([code, stderr.includes(`${how} while it was read: nothing was stored`)]).toEqual([1, true]);
  expect((await user.cloud(['stor', 'stat', `put-${name}`])).code).toBe(3);
});

/** Whether a process has a file of this name open. */
function holds({ pid }: ChildProcess, name: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((fd) => readlinkSync(join(folder, fd)).endsWith(`/${name}`));
  } catch {
    // One was closed while they were looked at.
    return false;
  }
}

test('named pipes are waited for at both ends, and Ctrl-C ends the waiting', async () => {
  await user.shell('mkfifo pipe');
  const put = start('stor', 'put', 'pipe', 'piped', '-q');
  await waitFor(() => holds(put, 'pipe'));
  put.kill('SIGINT');
  await waitForEnd(put);
  expect(put.signalCode).toBe('SIGINT');
  let isAsked = false;
  const proxy = await startFaultProxy(user.local.storUrl, (method) => ((isAsked ||= method === 'GET'), 'none'), 1);
  const get = start('stor', 'get', 'large', 'pipe', '-q', '--stor-url', proxy.url);
  await waitFor(() => isAsked);
  await sleep(200);
  get.kill('SIGINT');
  await waitForEnd(get);
  expect(get.signalCode).toBe('SIGINT');
  await proxy.close();
  const line =
    'cloud stor put pipe piped -q & { sleep 0.3; cat large; } > pipe; wait; cloud stor get piped pipe -q & sleep 0.3; cmp - large < pipe && wait';
  expect(await user.shell(line)).toMatchObject({ code: 0, stdout: '', stderr: '' });
});

test('two that upload the same file at once: each makes the object, and nothing is left', { timeout: 60_000 }, async () => {
  user.write('parts', randomBytes(12_000_000));
  const first = start('mpu', 'upload', 'parts', 'parts', '--part-size', '5M', '--bwlimit', '6M');
  const notes = join(user.home, '.local/state/cloud/uploads');
  await waitFor(() => existsSync(notes) && readdirSync(notes).some((name) => name.endsWith('.json')));
  const second = start('mpu', 'upload', 'parts', 'parts', '--part-size', '5M', '--bwlimit', '6M');
  const ends = await Promise.all([waitForEnd(first), waitForEnd(second)]);
  expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual([0, 0].map((code) => [code, 'parts -> /demo/stor/parts\n']));
  expect((await user.shell('cloud stor get parts | cmp - parts')).code).toBe(0);
  expect(await user.json('mpu', 'list')).toEqual([]);
  expect(readdirSync(notes)).toEqual([]);
});

test('transfers succeed even if the client cannot write its state', { timeout: 60_000 }, async () => {
  user.write('no-folder', '');
  const env = { XDG_STATE_HOME: join(user.home, 'no-folder') };
  user.write('few/a', 'a');
  for (const words of [
    ['mpu', 'upload', 'large', 'unnoted'],
    ['stor', 'sync', 'few', 'stor:few'],
    ['stor', 'sync', 'stor:few', 'few-back'],
  ]) {
    const { code, stderr } = await user.cloud([...words, '-q'], { env });
    expect([code, stderr]).toEqual([0, '']);
  }
  expect((await user.cloud(['stor', 'get', 'unnoted'])).bytes.equals(large)).toBe(true);
  expect((await user.cloud(['stor', 'cat', 'few/a'])).stdout).toBe('a');
});

/** Runs a command through a proxy that stores "new" under a name just before the first request by this method. */
async function interfere(words: readonly string[], method: string, name: string): Promise<{ code: number | null; stderr: string }> {
  let left = 1;
  const proxy = await startFaultProxy(
    user.local.storUrl,
    (each) => {
      if (each === method && left-- > 0)
        execFileSync(join(user.home, 'bin/cloud'), ['stor', 'put', '-', name], { env: user.env, input: 'new' });
      return 'none';
    },
    1,
  );
  const outcome = await user.cloud(['stor', ...words, '--stor-url', proxy.url]);
  await proxy.close();
  return outcome;
}

test('find --delete leaves alone what was changed since it was found', async () => {
  await user.cloud(['stor', 'put', '-', 'old.tmp'], { input: 'old' });
  const { code, stderr } = await interfere(['find', '--name', '*.tmp', '--type', 'f', '--delete', '-y'], 'DELETE', 'old.tmp');
  expect([code, stderr.includes('old.tmp has changed meanwhile')]).toEqual([1, true]);
  expect((await user.cloud(['stor', 'cat', 'old.tmp'])).stdout).toBe('new');
});

test.each([
  [['cp', '--no-clobber', 'from/a', 'to/a'], 'exists: left alone', 0],
  [['ln', '--no-clobber', 'from/a', 'to/a'], 'exists: left alone', 0],
  [['sync', 'stor:from', 'stor:to'], 'has changed meanwhile: left alone', 1],
])('%j leaves alone what came since it looked', async (words, message, expected) => {
  for (const folder of ['from', 'to']) await user.cloud(['stor', 'mkdir', folder]);
  await user.cloud(['stor', 'put', '-', 'from/a'], { input: 'old' });
  const { code, stderr } = await interfere(words, 'PUT', 'to/a');
  expect([code, stderr.includes(message)]).toEqual([expected, true]);
  expect((await user.cloud(['stor', 'cat', 'to/a'])).stdout).toBe('new');
  await user.cloud(['stor', 'rm', 'to/a', '-y']);
});

test('a link whose response was lost is not taken for that of another', async () => {
  let lost = false;
  const proxy = await startFaultProxy(
    user.local.storUrl,
    (method) => (method === 'PUT' && !lost ? ((lost = true), 'no response') : 'none'),
    1,
  );
  const { code, stderr } = await user.cloud(['stor', 'cp', '--no-clobber', 'from/a', 'to/a', '-q', '--stor-url', proxy.url]);
  await proxy.close();
  expect([lost, code, stderr]).toEqual([true, 0, '']);
});

test('a connection that breaks while a body is sent is a failure, whatever the system calls it', async () => {
  const proxy = await startFaultProxy(user.local.storUrl, (method) => (method === 'PUT' ? 'busy' : 'none'), 1);
  const put = (): ReturnType<typeof user.cloud> =>
    user.cloud(['stor', 'put', 'large', 'x', '-q', '--retries', '0', '--stor-url', proxy.url]);
  const outcomes = await Promise.all(Array.from({ length: 8 }, put));
  await proxy.close();
  expect(outcomes.map(({ code, stderr }) => [code, stderr.startsWith('cloud stor put large x')])).toEqual(outcomes.map(() => [1, true]));
});
