import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { besideWords, earlierProgram } from '../support/earlier.ts';
import { median, report } from '../support/figures.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** From the start of `cloud local serve`, with data that is there, until both ports answer over TLS; and the memory that it takes then. */

const user = useLocal();
const program = resolve(import.meta.dirname, '../../bin/cloud');
const rounds = scale(3, 21);
const mostTime = 250;
const mostMemory = 90;
/** Milliseconds between two tries to reach a port: as often as not to take the processor from what starts. */
const pause = 3;

/** Whether a port answers a request, whatever it says. */
function asks(url: string, ca: string): Promise<boolean> {
  return new Promise((settle) => {
    const asked = request(url, { ca, agent: false }, (response) => {
      response.resume();
      settle(true);
    });
    asked.on('error', () => settle(false)).end();
  });
}

async function waitForAnswer(url: string, ca: string): Promise<void> {
  while (!(await asks(url, ca))) {
    await new Promise((wake) => {
      setTimeout(wake, pause);
    });
  }
}

/** Most memory of a process so far, MB. */
function readPeak({ pid }: ChildProcess): number {
  const [, kibibytes = ''] = /VmHWM:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8')) ?? [];
  return (Number(kibibytes) * 1024) / 1e6;
}

/** Starts the service, waits until it answers and has nothing more to prepare, and ends it. */
async function startOnce(): Promise<{ time: number; memory: number }> {
  const { computeUrl, storUrl, caFile, dataDir } = user.local;
  const ca = readFileSync(caFile, 'utf8');
  const ports = ['--compute-port', new URL(computeUrl).port, '--stor-port', new URL(storUrl).port];
  const started = performance.now();
  const child = spawn(process.execPath, [program, 'local', 'serve', '--data', dataDir, ...ports], { env: user.env });
  let log = '';
  const prepared = new Promise<void>((settle) => {
    child.stderr.on('data', (piece: Buffer) => {
      log += piece.toString();
      if (/ jobs: /u.test(log) && / object storage /u.test(log)) settle();
    });
  });
  const ended = once(child, 'exit');
  await Promise.all([waitForAnswer(`${computeUrl}/--ping`, ca), waitForAnswer(`${storUrl}/demo/stor`, ca)]);
  const time = performance.now() - started;
  await prepared;
  const memory = readPeak(child);
  child.kill('SIGTERM');
  expect([await ended, log]).toEqual([[0, null], expect.stringContaining('stopping')]);
  return { time, memory };
}

function timeBare(): number {
  const started = performance.now();
  spawnSync(process.execPath, ['-e', '0'], { env: user.env });
  return performance.now() - started;
}

test('cloud local serve answers soon, in little memory', { timeout: 300_000 }, async () => {
  await user.shell('seq 50 | xargs -P4 -I{} sh -c "echo {} | cloud stor put - object{} -q"');
  await user.cloud(['local', 'stop']);
  const times: number[] = [];
  const bare: number[] = [];
  let memory = 0;
  await startOnce();
  for (let round = 0; round < rounds; round += 1) {
    bare.push(timeBare());
    const one = await startOnce();
    times.push(one.time);
    memory = Math.max(memory, one.memory);
  }
  const [time, least] = [median(times), median(bare)];
  const name = 'cloud local serve, until both ports answer over TLS';
  report('bench', { name, ours: `${time.toFixed(0)} ms`, theirs: `promised: ${mostTime} ms`, ratio: time / mostTime, most: 1 });
  report('bench', {
    name: `${name}; node -e 0`,
    ours: `${time.toFixed(0)} ms`,
    theirs: `${least.toFixed(0)} ms`,
    ratio: time / least,
  });
  report('bench', {
    name: 'most memory of cloud local serve until then',
    ours: `${memory.toFixed(0)} MB`,
    theirs: `promised: ${mostMemory} MB`,
    ratio: memory / mostMemory,
    most: 1,
  });
});

/** Milliseconds of a whole command. */
async function timeCommand(line: string): Promise<number> {
  const started = performance.now();
  const { code, stderr } = await user.shell(line);
  expect([line, code, stderr]).toEqual([line, 0, '']);
  return performance.now() - started;
}

test.runIf(earlierProgram !== undefined)('local start announces no later than an earlier release', { timeout: 300_000 }, async () => {
  const programs = [program, earlierProgram ?? ''].map((path, index) => ({
    start: `'${path}' local start ${besideWords.replace('beside', `beside${index}`)} -q`,
    stop: `'${path}' local stop --data beside${index} -q`,
    times: [] as number[],
  }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { start, stop, times } of programs) {
      const time = await timeCommand(`${start} >started`);
      await timeCommand(stop);
      // The first one makes the data.
      if (round > 0) times.push(time);
    }
  }
  const [ours = 0, theirs = 0] = programs.map(({ times }) => median(times));
  report('bench', {
    name: 'cloud local start with data that is there; an earlier release (690770e)',
    ours: `${ours.toFixed(0)} ms`,
    theirs: `${theirs.toFixed(0)} ms`,
    ratio: ours / theirs,
    most: 1.05,
  });
});
