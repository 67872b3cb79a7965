import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** What signals do to transfers: those of a terminal that a command does not use, or that its shell ignores, leave it alone. */

const user = useShared('--http');
const mebibyte = 1024 * 1024;
/** 6 MiB at 2 MiB/s take three seconds: the signal comes while they do. */
const slow = '--bwlimit 2M';
/** For what does not wait for the end. */
const endless = '--bwlimit 100k';
/** Milliseconds that a state may take to come: how busy the machine is decides nothing. */
const longest = 150_000;

beforeAll(async () => {
  writeFileSync(join(user.home, 'big'), Buffer.alloc(6 * mebibyte, 'x'));
  await user.here(['stor', 'put', 'big', 'big']);
});

function start(line: string): { child: ChildProcess; end: Promise<{ code: number | null; signal: NodeJS.Signals | null }> } {
  const child = spawn('bash', ['-c', line], { cwd: user.home, env: user.env, stdio: 'ignore', detached: true });
  const end = once(child, 'close').then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }));
  return { child, end };
}

/** Waits until a download has begun: its temporary file is there. */
async function waitForPart(folder: string): Promise<void> {
  const isThere = (): boolean => existsSync(folder) && readdirSync(folder).some((name) => name !== 'copy');
  for (const deadline = Date.now() + longest; !isThere();) {
    if (Date.now() > deadline) throw new Error('no download has begun');
    await sleep(20);
  }
}

let count = 0;
function makeFolder(): string {
  count += 1;
  return `to-${count}`;
}

/** Sends a signal to every process of a script while it downloads. */
async function signalDownload(signal: NodeJS.Signals, makeLine: (command: string) => string, rate = slow) {
  const folder = makeFolder();
  const { child, end } = start(`mkdir ${folder}; ${makeLine(`cloud stor get big ${folder}/copy ${rate}`)}`);
  await waitForPart(join(user.home, folder));
  process.kill(-(child.pid ?? 0), signal);
  return { ...(await end), left: readdirSync(join(user.home, folder)) };
}

// All of them wait for the same time.
describe.concurrent('a transfer goes on', () => {
  const goesOn = { code: 0, signal: null, left: ['copy'] };

  it('under nohup, without a terminal, and under setsid', async () => {
    const ended = await Promise.all([
      signalDownload('SIGHUP', (command) => `trap '' HUP; nohup ${command} > log 2>&1`),
      signalDownload('SIGHUP', (command) => `trap '' HUP; ${command} < /dev/null > log 2>&1`),
      signalDownload('SIGHUP', (command) => `trap '' HUP; setsid -w ${command} > log 2>&1`),
    ]);
    expect(ended, 'under nohup, without a terminal, under setsid').toEqual([goesOn, goesOn, goesOn]);
  });

  it('where its shell ignores SIGINT, and where CLOUD_IGNORE_SIGNALS says so', async () => {
    const ended = await Promise.all([
      signalDownload('SIGINT', (command) => `trap '' INT; ${command}; exit $?`),
      signalDownload('SIGTERM', (command) => `trap : TERM; CLOUD_IGNORE_SIGNALS=TERM,INT ${command}; exit $?`),
    ]);
    expect(ended, 'ignored by the shell, by CLOUD_IGNORE_SIGNALS').toEqual([goesOn, goesOn]);
  });

  it('when the terminal that it was started from is closed', async () => {
    const folder = makeFolder();
    const line = `mkdir ${folder}; nohup cloud stor get big ${folder}/copy ${slow} > log 2>&1 & wait`;
    const terminal = spawn('script', ['-qefc', line, '/dev/null'], {
      cwd: user.home,
      env: { ...user.env, SHELL: '/bin/bash' },
      stdio: 'pipe',
    });
    await waitForPart(join(user.home, folder));
    terminal.kill('SIGKILL');
    const file = join(user.home, folder, 'copy');
    for (const deadline = Date.now() + longest; !existsSync(file) && Date.now() < deadline;) await sleep(50);
    expect(readFileSync(file)).toHaveLength(6 * mebibyte);
  });

  it('also a long command that only reads', async () => {
    const { child, end } = start(`trap '' HUP; cloud stor cat big ${slow} < /dev/null > read 2> log`);
    for (
      const deadline = Date.now() + longest;
      !(existsSync(join(user.home, 'read')) && readFileSync(join(user.home, 'read')).length > 0);
    ) {
      if (Date.now() > deadline) throw new Error('nothing was read');
      await sleep(20);
    }
    process.kill(-(child.pid ?? 0), 'SIGHUP');
    expect(await end).toEqual({ code: 0, signal: null });
    expect(readFileSync(join(user.home, 'read'))).toHaveLength(6 * mebibyte);
  });
});

describe('a transfer ends', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('by %s itself, and its temporary file is gone', async (signal) => {
    expect(await signalDownload(signal, (command) => `exec ${command}`, endless)).toEqual({ code: null, signal, left: [] });
  });

  it('with its message when the signal comes twice at once, as from `timeout`, which tells the program and its group', async () => {
    const folder = makeFolder();
    const { child, end } = start(`mkdir ${folder}; exec cloud stor get big ${folder}/file ${endless} 2> ${folder}.log`);
    await waitForPart(join(user.home, folder));
    for (let times = 0; times < 2; times += 1) {
      process.kill(child.pid ?? 0, 'SIGINT');
      await sleep(5);
    }
    expect(await end).toEqual({ code: null, signal: 'SIGINT' });
    expect(readFileSync(join(user.home, `${folder}.log`), 'utf8')).toContain('interrupted');
  });

  // Each would take longer than a test may.
  it.each([['get big slow --bwlimit 1k'], ['rm -ry many --max-requests-per-second 1']])('soon, whatever it waits for: %s', async (line) => {
    await user.shell('mkdir -p many; for i in $(seq 250); do echo > many/$i; done');
    await user.here(['stor', 'put', '-rqT', 'many', 'many']);
    const { child, end } = start(`exec cloud stor ${line}`);
    await sleep(2500);
    process.kill(-(child.pid ?? 0), 'SIGINT');
    expect(await end).toEqual({ code: null, signal: 'SIGINT' });
  });

  it('with 143 in a shell after SIGTERM', async () => {
    const { code } = await user.shell(`timeout --preserve-status 1 cloud stor get big late ${endless}`);
    expect([code, existsSync(join(user.home, 'late'))]).toEqual([143, false]);
  });

  it('when the terminal that it uses is closed, and its temporary file is gone', async () => {
    const folder = makeFolder();
    const line = `mkdir ${folder}; exec cloud stor get big ${folder}/copy ${endless}`;
    const options = { cwd: user.home, env: { ...user.env, SHELL: '/bin/bash' }, stdio: 'pipe' } as const;
    const terminal = spawn('script', ['-qefc', line, '/dev/null'], options);
    await waitForPart(join(user.home, folder));
    terminal.kill('SIGKILL');
    const list = (): string[] => readdirSync(join(user.home, folder));
    for (const deadline = Date.now() + longest; list().length > 0 && Date.now() < deadline;) await sleep(20);
    expect(list()).toEqual([]);
  });
});
