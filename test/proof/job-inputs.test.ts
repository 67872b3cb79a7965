import { expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { measureRun, peakOfService } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** Inputs of a job: as many through a pipe as there are, in the memory of a few; and a large one, byte for byte. */

const user = useLocal();
const count = scale(50_000, 1_000_000);
const mebibyte = 1024 * 1024;
/** Most memory of the tool, and of the service, bytes. */
const mostOfTool = 150 * mebibyte;
const mostOfService = 300 * mebibyte;

test(`${count} paths go from a pipe into a job, and back, in bounded memory`, { timeout: 290_000 }, async () => {
  const created = await user.cloud(['jobs', 'create', '--reduce', 'wc -l', '-o', 'name', '-q']);
  const id = created.stdout.trim();
  const added = await measureRun(user, `seq -f 'logs/2026/%.0f.txt' ${count} | cloud jobs add ${id} - -q`);
  const listed = await measureRun(user, `cloud jobs inputs ${id} -o name | tee listed | wc -l`);
  expect((await user.shell(`seq -f '/demo/stor/logs/2026/%.0f.txt' ${count} | cmp - listed`)).code).toBe(0);
  await user.cloud(['jobs', 'cancel', id]);
  const peaks = {
    'jobs add': [added.peak, mostOfTool],
    'jobs inputs': [listed.peak, mostOfTool],
    'the service': [peakOfService(user), mostOfService],
  };
  for (const [name, [peak = 0, most = 0]] of Object.entries(peaks)) {
    report('proof', {
      name: `memory for ${count} inputs of a job: ${name}`,
      ours: `${Math.round(peak / mebibyte)} MiB`,
      promise: `under ${most / mebibyte} MiB`,
    });
    expect(peak, name).toBeLessThan(most);
  }
  report('proof', { name: `time for ${count} inputs of a job from a pipe`, ours: `${added.seconds.toFixed(1)} s` });
});

test('100 MB of random bytes go through a job, and come out of it in bounded memory', { timeout: 290_000 }, async () => {
  await user.shell('head -c 100000000 /dev/urandom > large && cloud stor put -q large large');
  const { peak } = await measureRun(user, "cloud jobs run -q --map cat --map 'tee copy' large > back");
  expect((await user.shell('cmp large back')).code).toBe(0);
  report('proof', {
    name: 'a binary input of 100 MB through two phases of a job: memory of the program',
    ours: `${Math.round(peak / mebibyte)} MiB`,
    promise: `identical bytes, under ${mostOfTool / mebibyte} MiB`,
  });
  expect(peak).toBeLessThan(mostOfTool);
});
