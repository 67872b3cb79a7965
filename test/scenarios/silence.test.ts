import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHostileService, type HostileService } from '../support/hostile-service.ts';
import { useShared } from '../support/shared-service.ts';

/**
 * A service that takes requests and no longer answers: every command ends within `--timeout` plus 2 s, with the usual number of retries and
 * whatever else it had to do. What a service refuses or cuts is still tried again.
 */

const user = useShared('--http');
const timeoutMs = 250;
const graceMs = 2000;
/** Other programs may have the processors for as long as this. */
const othersMs = 6000;
const files = 40;
let compute: HostileService;
let stor: HostileService;

beforeAll(async () => {
  compute = await startHostileService(user.local.computeUrl, () => 0);
  stor = await startHostileService(user.local.storUrl, () => 0);
  mkdirSync(join(user.home, 'tree'));
  for (let number = 0; number < files; number += 1) writeFileSync(join(user.home, 'tree', `f${number}`), `content ${number}`);
  const prepared = await user.line(
    'cloud stor put -q -r tree stored && mkdir got && seq 1 2000000 > tree.large && cloud stor put -q tree.large large',
  );
  if (prepared.code !== 0) throw new Error(`the samples cannot be made: ${prepared.stderr}`);
});
afterAll(() => Promise.all([compute.close(), stor.close()]));

/** Runs a command on services that are silent from exchange `at` on. */
async function run(
  line: string,
  at: number,
  timeout = timeoutMs,
): Promise<{ code: number | null; stderr: string; spentMs: number; met: number }> {
  const started = performance.now();
  for (const service of [compute, stor]) service.plan('silence', at);
  const urls = ['--url', compute.url, '--stor-url', stor.url];
  const { code, stderr } = await user.here([...line.split(' '), ...urls, '--timeout', `${timeout}ms`]);
  return { code, stderr, spentMs: performance.now() - started, met: compute.happened + stor.happened };
}

describe.each([0, 1])('services that are silent from exchange %i on', (at) => {
  test.each([
    ['keys list'],
    ['keys delete one two three -y'],
    ['images wait one two --state active'],
    ['stor ls stored'],
    ['stor find stored'],
    ['stor rm -r -y stored'],
    ['stor rm -y stored/f1 stored/f2 stored/f3'],
    ['stor put -r tree there'],
    ['stor get -r stored got'],
    ['stor get large got/large'],
    ['stor cat stored/f1 stored/f2 stored/f3'],
    ['stor sync tree stor:stored'],
    ['mpu upload tree.large assembled --part-size 5M'],
    ['jobs list'],
    ['jobs run --map cat stored/f1'],
  ])('%s ends in time, and says whom it waited for', async (line) => {
    const { code, stderr, spentMs, met } = await run(line, at);
    if (met === 0) return expect(code).not.toBe(130);
    expect([code, stderr]).toEqual([
      expect.toSatisfy((each: number) => [1, 5, 6].includes(each)),
      expect.stringContaining('sent no data for too long'),
    ]);
    expect(spentMs).toBeLessThan(timeoutMs + graceMs + othersMs);
  });
});

test('after the silence nothing more is tried: one line says so, and no request goes out', async () => {
  const { code, stderr, met } = await run('stor put -r tree counted -P 2 --no-progress', 4, 4 * timeoutMs);
  expect(code).toBe(5);
  // The last word is how to go on, when the service is back.
  expect(stderr).toMatch(
    /\n(?:cloud stor put: )?[^\n]*stopped because the service does not respond\nhint: to resume: cloud resume [\da-f]{8}\n$/u,
  );
  expect(met).toBeLessThan(6);
});

test('--wait-timeout ends the waiting also while the service is silent, and --retries 0 asks once', async () => {
  const { id } = await user.json<{ id: string }>('jobs', 'create', '--map', 'cat', '--name', 'open');
  for (const [word, at] of [
    [id, 0],
    ['open', 1],
  ] as const) {
    stor.plan('silence', at);
    const words = ['jobs', 'wait', word, '--wait-timeout', '1s', '--timeout', '1h', '--stor-url', stor.url];
    expect(await user.here(words)).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('wait longer with --wait-timeout') as string,
    });
  }
  const refused = await user.here(['jobs', 'wait', id, '--retries', '0', '--stor-url', 'http://127.0.0.1:1']);
  expect(refused.stderr).not.toContain('retrying');
  expect(refused.code).toBe(1);
});

test('a service that refuses connections is tried as often by every command', async () => {
  const words = ['-v', '--stor-url', 'http://127.0.0.1:1'];
  const lines = [
    'stor ls',
    'stor cat stored/f1',
    'stor get stored/f1 got.one',
    'stor put -T tree/f1 one',
    'stor ln stored/f1 one',
    'mpu list',
  ];
  const tries = lines.map(async (line) => {
    const { stderr } = await user.here([...line.split(' '), ...words]);
    return [line, stderr.split('\n').filter((each) => each.startsWith('> ')).length];
  });
  expect(await Promise.all(tries)).toEqual(lines.map((line) => [line, 4]));
});
