import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { control } from '../../src/commands/local/control.ts';
import { dataFolder } from './local-template.ts';
import type { Sandbox } from './sandbox.ts';

const program = resolve(import.meta.dirname, '../../bin/cloud');

/** Ends a command by a signal when the service with this data has had a failure for it, which goes on until then. */
export async function killAtFault(
  user: Sandbox,
  words: readonly string[],
  fault: readonly string[],
  data: readonly string[] = [],
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<void> {
  await user.here(['local', 'faults', 'add', ...fault, ...data, '-q']);
  const child = spawn(process.execPath, [program, ...words], { cwd: user.home, env: user.env, stdio: 'ignore' });
  const ended = new Promise((done) => child.once('exit', done));
  const dataDir = join(user.home, data[1] ?? dataFolder);
  const isHeld = async (): Promise<boolean> => (await control(dataDir, 'faults', {})).faults.some(({ injected }) => injected > 0);
  while (child.exitCode === null && !(await isHeld())) await sleep(50);
  child.kill(signal);
  await ended;
  expect([fault, child.signalCode]).toEqual([fault, signal]);
  await user.here(['local', 'faults', 'clear', ...data, '-q']);
}
