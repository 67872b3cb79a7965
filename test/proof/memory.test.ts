import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { measureRun, peakOfService } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

const user = useLocal();
const mebibyte = 1024 * 1024;
const size = 1024 * mebibyte;
/** Most memory of either side, bytes. */
const most = 150 * mebibyte;

test('1 GiB goes up from a file and down into a pipe in less than 150 MB of memory on either side', { timeout: 240_000 }, async () => {
  // A file with holes costs no disk; the content store keeps every byte.
  execFileSync('truncate', ['-s', String(size), join(user.home, 'large')]);
  const up = await measureRun(user, 'cloud stor put large large -q');
  rmSync(join(user.home, 'large'));
  const down = await measureRun(user, `cloud stor get -q large | cmp -n ${size} - /dev/zero`);
  const peaks = { 'put of a file': up.peak, 'get into a pipe': down.peak, 'the service': peakOfService(user) };
  for (const [name, peak] of Object.entries(peaks)) {
    report('proof', { name: `memory for 1 GiB: ${name}`, ours: `${Math.round(peak / mebibyte)} MiB`, promise: 'under 150 MiB' });
    expect(peak, name).toBeLessThan(most);
  }
});

const archived = scale(256, 1024);

test(`an archive of ${archived} MiB is stored and read back in less than 150 MB of memory`, { timeout: 240_000 }, async () => {
  execFileSync('truncate', ['-s', `${archived}M`, join(user.home, 'packed')]);
  const untar = await measureRun(user, 'tar c packed | cloud stor put --untar - archived -q');
  rmSync(join(user.home, 'packed'));
  const tar = await measureRun(user, `cloud stor get -r archived --tar -q | tar xO | cmp -n ${archived * mebibyte} - /dev/zero`);
  for (const [name, { peak }] of Object.entries({ 'put --untar': untar, 'get --tar': tar })) {
    report('proof', { name: `memory for ${archived} MiB: ${name}`, ours: `${Math.round(peak / mebibyte)} MiB`, promise: 'under 150 MiB' });
    expect(peak, name).toBeLessThan(most);
  }
});
