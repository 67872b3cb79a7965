import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { median, report } from '../support/figures.ts';
import { measureRun } from '../support/measured-run.ts';
import { installPublished, readPublishedVersion } from '../support/published.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** The same work by the clients that have been published for these services, against the same service. */

const user = useLocal();
const rounds = scale(1, 7);
const files = scale(20, 200);

let theirShell: Awaited<ReturnType<typeof installPublished>>;

beforeAll(async () => {
  theirShell = await installPublished(user);
  mkdirSync(join(user.home, 'tree'));
  for (let number = 0; number < files; number += 1) writeFileSync(join(user.home, 'tree', `file${number}`), randomBytes(4096));
  user.write('small', randomBytes(4096));
  user.write('large', randomBytes(scale(16, 256) * 1024 * 1024));
  const { code, stderr } = await user.shell('cloud stor put large small stor: -q && cloud stor mkdir theirs -q');
  if (code !== 0) throw new Error(stderr);
});

test.each([
  ['list images', 'cloud images list', 'triton images'],
  ['list a directory', 'cloud stor ls', 'mls "/$MANTA_USER/stor"'],
  ['put an object of 4 KiB', 'cloud stor put small ours -q', 'mput -q -f small "/$MANTA_USER/stor/theirs/small"'],
  [
    'get an object of 4 KiB',
    'cloud stor get small back -q && cmp small back',
    'mget -q "/$MANTA_USER/stor/small" > back && cmp small back',
  ],
  ['put a large object', 'cloud stor put large ours-large -q', 'mput -q -f large "/$MANTA_USER/stor/theirs/large"'],
  ['get a large object', 'cloud stor get large back -q && cmp large back', 'mget -q "/$MANTA_USER/stor/large" > back && cmp large back'],
  [`sync ${files} files of 4 KiB`, 'cloud stor sync tree stor:tree-$ROUND -q', 'msync -q tree "/$MANTA_USER/stor/theirs/tree-$ROUND"'],
  [`sync ${files} files again`, 'cloud stor sync tree stor:tree-0 -q', 'msync -q tree "/$MANTA_USER/stor/theirs/tree-0"'],
])('%s', { timeout: 600_000 }, async (what, ours, theirs) => {
  const seconds: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    seconds[0].push((await measureRun(user, `ROUND=${round}; ${ours}`)).seconds);
    const started = performance.now();
    const { code, stderr } = await theirShell(`ROUND=${round}; ${theirs}`);
    expect([theirs, code, stderr]).toEqual([theirs, 0, '']);
    seconds[1].push((performance.now() - started) / 1000);
  }
  const [own, other] = [median(seconds[0]), median(seconds[1])];
  report('bench', {
    name: `${what}; ${readPublishedVersion(ours.startsWith('cloud images') ? 'triton' : 'manta')}`,
    ours: `${Math.round(own * 1000)} ms`,
    theirs: `${Math.round(other * 1000)} ms`,
    ratio: own / other,
    most: 1,
  });
});
