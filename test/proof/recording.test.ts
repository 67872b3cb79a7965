import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listSteps, makeSamples } from '../../src/commands/local/tour.ts';
import { useLocal } from '../support/sandbox.ts';

/** The guided tour, recorded against cloud local as a stand-in for a cloud, passes from the file alone. */

const user = useLocal();

test('the guided tour passes from a recording, with the cloud stopped', async () => {
  const folder = join(user.home, 'tour');
  mkdirSync(folder);
  const steps = listSteps(makeSamples(folder)).filter(({ line }) => !/^cloud local (?:start|stop)/u.test(line));
  expect(steps.length).toBeGreaterThan(12);
  const script = ['set -e', ...steps.flatMap(({ line }, at) => [`{ ${line}; } > "$OUT/${at}" 2>"$OUT/${at}.notes"`])].join('\n');
  const play = async (out: string, ...words: string[]): Promise<string[]> => {
    mkdirSync(join(user.home, out));
    const { code, stderr } = await user.cloud(['local', ...words, '--', 'sh', '-c', script], {
      cwd: folder,
      env: { OUT: join(user.home, out) },
    });
    // A request that got no response is missing in the log, or stands there later than its neighbours.
    const log = readFileSync(join(user.local.dataDir, 'service.log'), 'utf8').trim().split('\n').slice(-30).join('\n');
    expect([code, stderr.replace(/^Recorded .*\n/u, '')], log).toEqual([0, '']);
    return steps.map((_, at) => readFileSync(join(user.home, out, String(at)), 'utf8'));
  };
  const first = await play('first', 'record', 'tour.jsonl');
  expect((await user.cloud(['local', 'stop'])).code).toBe(0);
  expect((await user.cloud(['stor', 'ls'], { env: { CLOUD_RETRIES: '0' } })).code).not.toBe(0);
  const again = await play('again', 'run', '--replay', 'tour.jsonl');
  for (const [at, { line, check }] of steps.entries()) {
    if (check) expect([line, check(again[at] ?? '')]).toEqual([line, true]);
    // Times and the order of what is sent at once are those of each run.
    const sortLines = (text = ''): string[] => text.replaceAll(/\d/gu, '').split('\n').toSorted();
    if (!/ping|put|jobs run/u.test(line)) expect(sortLines(again[at])).toEqual(sortLines(first[at]));
  }
  const text = readFileSync(join(folder, 'tour.jsonl'), 'utf8');
  // The first lines are of the public half.
  const key = readFileSync(user.local.keyFile, 'utf8').trim().split('\n').slice(-10, -1);
  expect(key.filter((line) => text.includes(line))).toEqual([]);
  expect(text).not.toMatch(/signature="|[?&]signature=|PRIVATE KEY/iu);
  writeFileSync(join(folder, 'notes.txt'), 'Other words.\n');
  const line = ['cloud', 'stor', 'put', '-T', 'notes.txt', 'photos/2024/notes.txt'];
  const other = await user.cloud(['local', 'run', '--replay', 'tour.jsonl', '--', ...line], { cwd: folder });
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('it was sent with another one') as string });
});
