import { beforeAll, expect, test } from 'vitest';
import { median, report } from '../support/figures.ts';
import { fillTrees } from '../support/fill-tree.ts';
import { measureRun } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';
import { isLong, scale } from '../support/scale.ts';
import { openServices, readRecords } from '../support/signed.ts';

/** Listing and find against asking for the same pages one after the other, at three sizes a factor of ten apart. */

const user = useLocal();
const mebibyte = 1024 * 1024;
const counts = isLong ? [1000, 10_000, 100_000] : [100, 1000, 10_000];
const rounds = scale(1, 7);

beforeAll(() =>
  fillTrees(
    user,
    counts.flatMap((count) => [
      { name: `flat${count}`, folders: 0, objects: count },
      { name: `deep${count}`, folders: 9, objects: count / 10 },
    ]),
  ),
);

/** Seconds that the pages of a directory and of those in it take; how many entries they have. */
async function listBare(path: string): Promise<{ seconds: number; entries: number }> {
  const services = await openServices(user.local, 1);
  const started = performance.now();
  let entries = 0;
  async function list(directory: string): Promise<void> {
    for (let marker = '', isMore = true; isMore;) {
      const response = await services.send('storage', 'GET', `${directory}?limit=1000&marker=${encodeURIComponent(marker)}`);
      expect(response.status).toBe(200);
      const page = readRecords<{ name: string; type: string }>(response).filter(({ name }) => name !== marker);
      isMore = page.length > 0;
      marker = page.at(-1)?.name ?? '';
      entries += page.length;
      for (const { name, type } of page) if (type === 'directory') await list(`${directory}/${encodeURIComponent(name)}`);
    }
  }
  await list(`/${user.local.account}/stor/${path}`);
  const seconds = (performance.now() - started) / 1000;
  await services.close();
  return { seconds, entries };
}

test.each(counts.flatMap((count) => [`ls flat${count}`, `find deep${count} --type object`]))('%s', { timeout: 600_000 }, async (line) => {
  const [, tree = ''] = line.split(' ');
  const [ours, theirs]: [number[], number[]] = [[], []];
  let peak = 0;
  for (let round = 0; round < rounds; round += 1) {
    const own = await measureRun(user, `cloud stor ${line} -o name`);
    peak = Math.max(peak, own.peak);
    ours.push(own.seconds);
    const bare = await listBare(tree);
    theirs.push(bare.seconds);
    expect(own.stdout.trimEnd().split('\n').length).toBe(Number(tree.slice(4)));
    expect(bare.entries - (tree.startsWith('deep') ? 9 : 0)).toBe(Number(tree.slice(4)));
  }
  const [a, b] = [median(ours), median(theirs)];
  report('bench', {
    name: `cloud stor ${line}; its pages one after the other`,
    ours: `${Math.round(a * 1000)} ms, ${Math.round(peak / mebibyte)} MiB of memory`,
    theirs: `${Math.round(b * 1000)} ms`,
    ratio: a / b,
  });
});
