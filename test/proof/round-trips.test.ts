import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { createRandom } from '../support/random.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';

/** Times of files, wherever they lie in what a file system can hold, after trees went up and came back. */

const user = useLocal();
const fileCount = scale(500, 10_000);
const timeout = scale(300_000, 1_800_000);
/** Seconds since the epoch: from 1902 to 2446. */
const [earliest, latest] = [-2_145_916_800, 15_032_385_535];

test(`after put -r and get -r three times nothing has to be sent again (seed ${seed})`, { timeout }, async () => {
  const random = createRandom(seed);
  const script = [];
  for (let number = 0; number < fileCount; number += 1) {
    const name = `folder ${number % 20}/file ${number}`;
    mkdirSync(join(user.home, `trip0/folder ${number % 20}`), { recursive: true });
    writeFileSync(join(user.home, 'trip0', name), `${number}`);
    const second = Math.floor(earliest + random() * (latest - earliest));
    // A fraction counts away from zero in the command.
    script.push(`touch -d @${second}.${String(Math.floor(random() * 1e9)).padStart(9, '0')} 'trip0/${name}'`);
  }
  user.write('script', script.join('\n'));
  expect((await user.shell('bash script')).stderr).toBe('');
  for (let trip = 0; trip < 3; trip += 1) {
    expect((await user.cloud(['stor', 'put', '-r', `trip${trip}`, `trip${trip}`, '-q'])).stderr).toBe('');
    expect((await user.cloud(['stor', 'get', '-r', `trip${trip}`, `trip${trip + 1}`, '-q'])).stderr).toBe('');
  }
  const again = [];
  for (const [local, remote] of [
    ['trip0', 'stor:trip0'],
    ['trip3', 'stor:trip0'],
    ['trip0', 'stor:trip2'],
    ['trip3', 'stor:trip2'],
  ] as const)
    again.push(...(await user.json<object[]>('stor', 'sync', '-n', local, remote)));
  report('proof', {
    name: `times from 1902 to 2446 of ${fileCount} files, put and fetched three times: files that sync would send again`,
    ours: String(again.length),
    promise: 'none',
  });
  expect(again).toEqual([]);
});
