import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { median, report } from '../support/figures.ts';
import { measureRun } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/**
 * The rate of `stor run`: the puts of a tree as lines, and lines of four commands with as many requests that change something, against `put -r` of the
 * same files. They take turns.
 */

const user = useLocal();
const lineCount = scale(300, 10_000);
const rounds = scale(1, 3);

/** A line of a mixed list: of ten, seven put, one links what was put, one removes the link, and one looks at what is there. */
function mixLine(number: number, folder: string): string {
  const at = number % 10;
  if (at === 7) return `ln ${folder}/${number - 7} ${folder}/link-${number}`;
  if (at === 8) return `rm -y ${folder}/link-${number - 1}`;
  return at === 9 ? `stat ${folder}/${number - 9}` : `put -T tree/${number} ${folder}/${number}`;
}

const kinds = {
  'put -r': (folder: string) => `cloud stor put -r -q -T tree ${folder}`,
  puts: (folder: string) => {
    const lines = Array.from({ length: lineCount }, (_, number) => `put -T tree/${number} ${folder}/${number}\n`);
    writeFileSync(join(user.home, 'lines'), lines.join(''));
    return 'cloud stor run - < lines | wc -l';
  },
  mixed: (folder: string) => {
    const lines = Array.from({ length: lineCount }, (_, number) => `${mixLine(number, folder)}\n`);
    writeFileSync(join(user.home, 'lines'), lines.join(''));
    return 'cloud stor run - < lines | wc -l';
  },
};

test('lines of stor run are done at the rate of put -r', { timeout: 1_800_000 }, async () => {
  mkdirSync(join(user.home, 'tree'));
  for (let number = 0; number < lineCount; number += 1) writeFileSync(join(user.home, `tree/${number}`), `content of ${number}`);
  const seconds = new Map<string, number[]>();
  const busy = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, plan] of Object.entries(kinds)) {
      const folder = `${name.replace(' ', '')}${round}`;
      await user.here(['stor', 'mkdir', '-q', folder]);
      const run = await measureRun(user, plan(folder));
      if (name !== 'put -r') expect(run.stdout.trim()).toBe(String(lineCount));
      seconds.set(name, [...(seconds.get(name) ?? []), run.seconds]);
      busy.set(name, [...(busy.get(name) ?? []), run.busy]);
    }
  }
  const [theirs, theirBusy] = [seconds, busy].map((each) => median(each.get('put -r') ?? []));
  for (const [name, least] of [
    ['puts', 0.85],
    ['mixed', 0.7],
  ] as const) {
    const [ours, ourBusy] = [seconds, busy].map((each) => median(each.get(name) ?? []));
    report('bench', {
      name: `${lineCount} lines of stor run, ${name === 'puts' ? 'all of them put' : 'put, ln, rm and stat mixed'}; put -r of ${lineCount} files`,
      ours: `${ours?.toFixed(1)} s, ${ourBusy?.toFixed(1)} s of processor time of the program`,
      theirs: `${theirs?.toFixed(1)} s, ${theirBusy?.toFixed(1)} s`,
      ratio: (theirs ?? 0) / (ours ?? 0),
      least,
    });
  }
});
