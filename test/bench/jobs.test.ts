import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** What a task of a job costs, as a ratio to `xargs` doing the same work on local files in the same run. */

const user = useLocal();
const inputs = scale(1000, 10_000);
const mebibyte = 1024 * 1024;

async function time(line: string): Promise<number> {
  const started = performance.now();
  const { code, stderr } = await user.shell(line);
  expect([line, code, stderr]).toEqual([line, 0, '']);
  return (performance.now() - started) / 1000;
}

function countDescriptors(): number {
  return readdirSync(`/proc/${user.local.pid}/fd`).length;
}

function readPeak(): number {
  const [, kibibytes = ''] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${user.local.pid}/status`, 'utf8')) ?? [];
  return (Number(kibibytes) * 1024) / mebibyte;
}

test(`${inputs} inputs of 1 KiB through --map wc`, { timeout: 600_000 }, async () => {
  const text = `${'word '.repeat(204)}\n`;
  for (let at = 0; at < inputs; at += 1) user.write(join('inputs', String(at).padStart(6, '0')), text);
  await time('cloud stor put -r inputs inputs -q');
  const before = countDescriptors();
  const theirs = await time('find inputs -type f | xargs -P2 -n1 sh -c \'wc < "$0"\' > xargs.out');
  const { stdout: id } = await user.shell('cloud stor find inputs --type object -o name | cloud jobs run --map wc --detach -q -o name');
  await time(`cloud jobs wait ${id.trim()} -q > waited`);
  const job = await user.json<{ timeCreated: string; timeDone: string }>('jobs', 'get', id.trim());
  const ours = (Date.parse(job.timeDone) - Date.parse(job.timeCreated)) / 1000;
  await time(`cloud jobs outputs ${id.trim()} --cat > job.out`);
  const after = countDescriptors();
  expect((await user.shell('wc -l < job.out')).stdout.trim()).toBe(String(inputs));
  expect((await user.shell('sort -u job.out | wc -l')).stdout.trim()).toBe('1');
  const each = (seconds: number): string => `${((seconds * 1000) / inputs).toFixed(2)} ms`;
  const name = `a task of a job of ${inputs} inputs`;
  report('bench', { name, ours: each(ours), theirs: `${each(theirs)} (xargs -P2 -n1 sh -c)`, ratio: ours / theirs, most: 1.3 });
  report('bench', {
    name: `memory of the service in a job of ${inputs} inputs`,
    ours: `${readPeak().toFixed(0)} MiB`,
    promise: 'under 300 MiB',
  });
  report('bench', { name: 'open files of the service before and after it', ours: `${before}, ${after}` });
  expect(readPeak()).toBeLessThan(300);
  expect(after).toBeLessThan(before + 10);
});
