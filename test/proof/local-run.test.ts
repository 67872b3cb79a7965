import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { median, report } from '../support/figures.ts';
import { useSandbox } from '../support/sandbox.ts';

/** Test suites of others run side by side, each with services of its own. */

const user = useSandbox();
const runs = join(user.home, '.local/share/cloud/runs');

test('20 runs begin at once, the first ones of this home, each with services of its own, and leave nothing', async () => {
  const line = (at: number): string => `cloud stor mkdir -q own${at} && sleep 1 && cloud stor ls -o name`;
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, at) => user.cloud(['local', 'run', '--', 'sh', '-c', line(at)])));
  const fresh = outcomes[0]?.stdout.replace('own0\n', '') ?? '';
  for (const [at, { code, stdout, stderr }] of outcomes.entries()) {
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n').toSorted()).toEqual([`own${at}`, ...fresh.split('\n')].toSorted());
  }
  expect(existsSync(runs) ? readdirSync(runs) : []).toEqual([]);
});

test('what a run adds to its program', async () => {
  const measure = async (words: readonly string[]): Promise<number> => {
    const started = performance.now();
    expect((await user.cloud(words)).code).toBe(0);
    return performance.now() - started;
  };
  const times: Record<'bare' | 'run', number[]> = { bare: [], run: [] };
  for (let turn = 0; turn < 5; turn += 1) {
    times.bare.push(await measure(['--version']));
    times.run.push(await measure(['local', 'run', '--', 'true']));
  }
  const [bare, run] = [median(times.bare), median(times.run)];
  report('proof', {
    name: 'cloud local run -- true, against cloud --version',
    ours: `${Math.round(run)} ms`,
    theirs: `${Math.round(bare)} ms`,
    promise: '500 ms more where node -e 0 takes 25 ms',
  });
});
