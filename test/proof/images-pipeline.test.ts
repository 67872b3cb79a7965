import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { expectWholeImage, machine, pipeline } from '../support/image-pipeline.ts';
import { createRandom } from '../support/random.ts';
import { scale, seed } from '../support/scale.ts';
import { useTwoDatacenters } from '../support/two-datacenters.ts';

/**
 * An image pipeline, interrupted by SIGINT and by SIGKILL at random moments of its exchanges with three services, goes on by `cloud resume --all` to
 * what a run without interruption makes: one image, one whole copy.
 */

const user = useTwoDatacenters();
const random = createRandom(seed);
const points = scale(3, 20);

/** Most milliseconds from a line of the trace to the signal: some signals come in the middle of an exchange. */
const mostDelayMs = 40;

/**
 * Runs a pipeline with a trace of its requests and responses, and ends it by a signal some time after so many lines of it.
 * @returns lines of the trace, and how it ended: by the signal, or before that by itself
 */
async function run(version: string, signal: NodeJS.Signals, line = Infinity): Promise<{ lines: number; isInterrupted: boolean }> {
  let lines = 0;
  const child = spawn(join(user.home, 'bin/cloud'), [...pipeline(version, '--to', 'east'), '-v'], {
    cwd: user.home,
    env: user.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise((resolve) => void child.on('close', resolve));
  const delay = Math.floor(random() * mostDelayMs);
  child.stderr.on('data', (piece: Buffer) => {
    const before = lines;
    lines += piece.toString().split('\n').length - 1;
    if (before < line && lines >= line) void sleep(delay).then(() => child.kill(signal));
  });
  await ended;
  return { lines, isInterrupted: child.signalCode === signal };
}

/** Whether the journal has the pipeline; it has none where the signal came before the first request, or after the last step. */
async function isLeft(version: string): Promise<boolean> {
  const left = await user.json<object[]>('resume');
  if (left.length > 0) expect(left).toMatchObject([{ kind: 'images', source: machine, target: `web@${version}`, state: 'interrupted' }]);
  return left.length > 0;
}

test(
  'an image pipeline that is interrupted anywhere goes on to the same image, copy and import',
  { timeout: scale(300_000, 1_800_000) },
  async () => {
    const whole = await run('2.0.0', 'SIGKILL');
    await expectWholeImage(user, '2.0.0');
    let runs = 0;
    const steps = new Set<string>();
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      for (let point = 0; point < points;) {
        const version = `2.1.${(runs += 1)}`;
        // A busy machine polls less often: such a run is over before its line.
        expect(runs).toBeLessThan(points * 20);
        const line = 1 + Math.floor(random() * (whole.lines - 1));
        const { isInterrupted } = await run(version, signal, line);
        if (!isInterrupted || !(await isLeft(version))) continue;
        point += 1;
        const { code, stderr } = await user.here(['resume', '--all']);
        expect([signal, line, seed, code, stderr]).toEqual([signal, line, seed, 0, expect.stringContaining(`import web@${version}: done`)]);
        for (const [, step = ''] of stderr.matchAll(/^(\w+) web@\S+: done earlier/gmu)) steps.add(step);
        await expectWholeImage(user, version);
      }
    }
    report('proof', {
      name: `image pipeline, interrupted at ${points} random points by SIGINT and at ${points} by SIGKILL, seed ${seed}`,
      ours: `all end with the same state; done before the interruption were, at times: ${[...steps].join(', ') || 'no step'}`,
      promise: 'the same state as without interruption',
    });
  },
);
