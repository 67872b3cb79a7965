import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { fillTrees } from '../support/fill-tree.ts';
import { measureRun } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** `find` over a tree of many entries: 20,000 in the short form, a million in the long one. */

const user = useLocal();
const objects = scale(1000, 50_000);
/** One directory with more entries than many pages, and many with fewer than one. */
const folders = 19;
const entryCount = (folders + 1) * objects + folders + 1;
const mebibyte = 1024 * 1024;
/** Most memory, bytes. */
const most = 150 * mebibyte;

/** Milliseconds until the first line, and until the last. */
function timeLines(words: readonly string[]): Promise<{ first: number; last: number; lines: number }> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(join(user.home, 'bin/cloud'), words, { cwd: user.home, env: user.env, stdio: ['ignore', 'pipe', 'inherit'] });
    let first = 0;
    let lines = 0;
    child.stdout.on('data', (piece: Buffer) => {
      if (first === 0) first = performance.now() - started;
      for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) lines += 1;
    });
    child.on('error', reject);
    child.on('close', () => resolve({ first, last: performance.now() - started, lines }));
  });
}

test(`find over ${entryCount} entries: the first line at once, memory flat`, { timeout: scale(120_000, 1_800_000) }, async () => {
  await fillTrees(user, [{ name: 'tree', folders, objects }]);
  const bare = await timeLines(['stor', 'find', 'tree', '--maxdepth', '0']);
  const { first, last, lines } = await timeLines(['stor', 'find', 'tree']);
  expect(lines).toBe(entryCount);
  report('proof', {
    name: `find over ${entryCount} entries: first line; find of one entry`,
    ours: `${Math.round(first)} ms`,
    theirs: `${Math.round(bare.first)} ms`,
    ratio: first / bare.first,
    promise: `at once; all of them took ${(last / 1000).toFixed(1)} s`,
  });
  expect(first).toBeLessThan(bare.first * 2 + 200);
  for (const line of ['find tree', 'find tree --name "*999*" -o jsonl', 'du tree', 'ls -l "tree/folder 1"']) {
    const { seconds, peak } = await measureRun(user, `cloud stor ${line} > out`);
    report('proof', {
      name: `${entryCount} entries: cloud stor ${line}`,
      ours: `${seconds.toFixed(1)} s, ${Math.round(peak / mebibyte)} MiB`,
      promise: `under ${most / mebibyte} MiB`,
    });
    expect(peak).toBeLessThan(most);
  }
});
