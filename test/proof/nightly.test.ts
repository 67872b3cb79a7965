import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

const user = useLocal('--fault', 'putobject=InternalError*1');
const files = 2000;

/** Seconds that the service is away. */
const away = 10;

test('a nightly upload of 2,000 files survives one 500 and a restart of the service, with a short log that says so', async () => {
  for (let folder = 0; folder < 20; folder += 1) {
    mkdirSync(join(user.home, `nightly/${folder}`), { recursive: true });
    for (let at = 0; at < files / 20; at += 1) writeFileSync(join(user.home, `nightly/${folder}/${at}`), `${folder} ${at}`);
  }
  const [compute, stor] = [user.local.computeUrl, user.local.storUrl].map((url) => new URL(url).port);
  // Slow enough that the service goes away in the middle.
  const upload = user.cloud(['stor', 'put', '-r', 'nightly', 'stored', '--bwlimit', '1M', '-P', '8', '--max-requests-per-second', '400']);
  await waitForObjects(200);
  await user.cloud(['local', 'stop']);
  await new Promise((done) => void setTimeout(done, away * 1000));
  const started = await user.cloud(['local', 'start', '--compute-port', compute ?? '', '--stor-port', stor ?? '']);
  expect(started.code).toBe(0);
  const { code, stdout, stderr } = await upload;
  const lines = stderr.trimEnd().split('\n');
  expect([code, stdout, lines.length < 40]).toEqual([0, '', true]);
  expect(stderr).toMatch(/retrying/);
  expect(lines.at(-1)).toMatch(/^2000 files, .* in .*, \d+ requests retried$/);
  const listed = await user.shell('cloud stor find stored --type f -o name | wc -l');
  expect(Number(listed.stdout)).toBe(files);
});

/** Waits until so many objects are stored. */
async function waitForObjects(count: number): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    const { stdout } = await user.shell('cloud stor find stored --type f -o name 2>/dev/null | wc -l');
    if (Number(stdout) >= count) return;
    await new Promise((done) => void setTimeout(done, 100));
  }
  throw new Error(`fewer than ${count} objects were stored`);
}
