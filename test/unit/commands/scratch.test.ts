import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeScratch } from '../../../src/commands/local/scratch.ts';

const day = 24 * 3_600_000;

test('templates of other releases are removed 30 days after their last use', async () => {
  const data = mkdtempSync(join(tmpdir(), 'cloud-scratch-'));
  const place = (name: string, days: number): void => {
    mkdirSync(join(data, name, 'keys'), { recursive: true, mode: 0o700 });
    const time = new Date(Date.now() - days * day);
    utimesSync(join(data, name), time, time);
  };
  for (const [name, days] of [
    ['template-0.0.1-old', 31],
    ['template-0.0.2-used', 29],
    ['local', 100],
  ] as const)
    place(name, days);
  const world = { kill: () => undefined, now: Date.now, pid: process.pid };
  const make = async (folder: string): Promise<void> => writeFileSync(join(folder, 'made'), '');
  const first = await makeScratch({ data }, world, make);
  expect(readdirSync(first)).toEqual(['made']);
  const [own = '', ...others] = readdirSync(data).filter((name) => name.startsWith('template-') && name !== 'template-0.0.2-used');
  expect(others).toEqual([]);
  expect(readdirSync(data).toSorted()).toEqual(['local', 'runs', own, 'template-0.0.2-used'].toSorted());
  // Each run is a use.
  place(own, 31);
  await makeScratch({ data }, world, make);
  expect(Date.now() - statSync(join(data, own)).mtimeMs).toBeLessThan(day);
  rmSync(data, { recursive: true });
});

test('what a killed run leaves is removed after the services that it started have ended', async () => {
  const data = mkdtempSync(join(tmpdir(), 'cloud-scratch-'));
  const ended = spawn('true');
  await once(ended, 'exit');
  const left = join(data, 'runs', `${ended.pid}.left`);
  const fork = join(left, 'fork');
  for (const folder of [fork, join(left, 'home/data/started')]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(fork, 'cloud.db'), '');
  const holder = spawn('sh', ['-c', 'exec 3< "$0/cloud.db"; echo open; exec sleep 60', fork], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(holder.stdout, 'data');
  writeFileSync(join(left, 'home/data/started', String(holder.pid)), fork, { mode: 0o600 });
  let isThereUntilItEnds: boolean | undefined;
  const kill = (pid: number, signal?: string | number): void => {
    if (signal !== 'SIGKILL') return void process.kill(pid, signal);
    // A process ends some time after the signal.
    setTimeout(() => {
      isThereUntilItEnds = existsSync(fork);
      process.kill(pid, signal);
    }, 50);
  };
  const isEnded = once(holder, 'exit');
  await makeScratch({ data }, { kill, now: Date.now, pid: process.pid }, undefined);
  await isEnded;
  expect([isThereUntilItEnds, existsSync(left)]).toEqual([true, false]);
  rmSync(data, { recursive: true });
});
