import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeScratch } from '../../../src/commands/local/scratch.ts';

const day = 24 * 3_600_000;

test('templates of other releases are removed 30 days after their last use', async () => {
  const data = mkdtempSync(join(tmpdir(), 'cloud-scratch-'));
  const place = (name: string, days: number): void => {
    mkdirSync(join(data, name, 'keys'), { recursive: true, mode: 0o700 });
    const time = new Date(Date.now() - days * day);
    utimesSync(join(data, name), time, time);
  };
  for (const [name, days] of [
    ['template-0.0.1-old', 31],
    ['template-0.0.2-used', 29],
    ['local', 100],
  ] as const)
    place(name, days);
  const world = { kill: () => undefined, now: Date.now, pid: process.pid };
  const make = async (folder: string): Promise<void> => writeFileSync(join(folder, 'made'), '');
  const first = await makeScratch({ data }, world, make);
  expect(readdirSync(first)).toEqual(['made']);
  const [own = '', ...others] = readdirSync(data).filter((name) => name.startsWith('template-') && name !== 'template-0.0.2-used');
  expect(others).toEqual([]);
  expect(readdirSync(data).toSorted()).toEqual(['local', 'runs', own, 'template-0.0.2-used'].toSorted());
  // Each run is a use.
  place(own, 31);
  await makeScratch({ data }, world, make);
  expect(Date.now() - statSync(join(data, own)).mtimeMs).toBeLessThan(day);
  rmSync(data, { recursive: true });
});
