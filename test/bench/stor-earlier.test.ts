import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { earlierProgram, startBeside } from '../support/earlier.ts';
import { median, report } from '../support/figures.ts';
import { measureRun, type MeasuredRun } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/**
 * Trees of small files against an earlier release in the same run, in turn: each with services of its own, and both against the services of
 * this release, where the difference is the client's alone.
 */

const user = useLocal();
const mebibyte = 1024 * 1024;
const count = scale(100, 1000);
/** Files of a tree of which nothing has to be brought. */
const known = count * 10;
const rounds = scale(1, 7);
const concurrency = 16;
/** Of lines of which something is promised, how many times the rate of the earlier release they have at least; the others are shown. */
const least = [1.8, scale(1.4, 3), 1.5];
/** How many times as long as the start of Node.js a `sync` with nothing to do may take. */
const mostStarts = 16;

/** Whose client works with whose services. */
interface Side {
  readonly name: string;
  /** The line up to the command; what a release remembers is read by itself alone. */
  readonly start: string;
}

type Kind = 'put' | 'get' | 'sync' | 'find' | 'rm' | 'nothing';

/** The lines of a round, by what they measure. Nothing is replaced, and nothing removed while anything is still to be made. */
function makeLines({ name, start }: Side, round: number): Record<Kind, string> {
  const tree = `${name}-${round}`;
  return {
    put: `${start} stor put -r many ${tree} -P ${concurrency} -q`,
    get: `${start} stor get -r ${tree} ${tree} -P ${concurrency} -q`,
    sync: `${start} stor sync known stor:${name}-known -q`,
    find: `${start} stor find ${name}-0 --type object`,
    rm: `${start} stor rm -r -y ${tree} -q`,
    nothing: `'${process.execPath}' -e 0`,
  };
}

async function measure(sides: readonly Side[], kinds: readonly Kind[]): Promise<MeasuredRun[][][]> {
  const runs = sides.map(() => kinds.map((): MeasuredRun[] => []));
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, kind] of kinds.entries()) {
      for (const turn of sides.keys()) {
        // Each begins a third of the rounds: what one leaves to be written to the disk, the next one waits for.
        const index = (turn + round) % sides.length;
        const side = sides[index] as Side;
        const line = makeLines(side, round)[kind];
        // The first brings the files, and what the second finds out is remembered by the others.
        if (kind === 'sync' && round === 0) {
          await measureRun(user, line);
          await measureRun(user, line);
        }
        runs[index]?.[at]?.push(await measureRun(user, line));
      }
    }
  }
  return runs;
}

test.runIf(earlierProgram !== undefined)(
  'trees of small files cost no more than with an earlier release',
  { timeout: 1_800_000 },
  async () => {
    for (const [folder, files, size] of [
      ['many', count, 4096],
      ['known', known, 16],
    ] as const) {
      mkdirSync(join(user.home, folder));
      for (let number = 0; number < files; number += 1) writeFileSync(join(user.home, folder, `file ${number}`), randomBytes(size));
    }
    await startBeside(user, earlierProgram ?? '');
    // A TLS session that one release keeps is not readable for the other, which would connect without one and replace it.
    const own = ['STATE', 'CACHE'].map((kind) => `XDG_${kind}_HOME='${join(user.home, `old-${kind.toLowerCase()}`)}'`).join(' ');
    const old = `${own} '${earlierProgram}'`;
    const sides = [
      { name: 'ours', start: 'cloud' },
      { name: 'theirs', start: old },
      { name: 'beside', start: `${old} --profile beside` },
    ];
    const made = await measure(sides, ['put', 'get', 'sync', 'find']);
    const [[starts = []] = []] = await measure(sides.slice(0, 1), ['nothing']);
    const removed = await measure(sides, ['rm']);
    const [ours = [], client = [], whole = []] = made.map((runs, side) => [...runs, ...(removed[side] ?? [])]);
    await user.shell(`'${earlierProgram}' local stop --data beside -q`);
    expect((await user.shell(`diff -r many ours-0 && diff -r many theirs-0 && diff -r many beside-0`)).stdout).toBe('');
    const middle = (runs: readonly MeasuredRun[] | undefined, read: (run: MeasuredRun) => number): number => median((runs ?? []).map(read));
    const seconds = ({ seconds: taken }: MeasuredRun): number => taken;
    const [ownSync, start] = [middle(ours[2], seconds), middle(starts, seconds)];
    report('bench', {
      name: `sync of ${known} files with nothing to do; node -e 0`,
      ours: `${Math.round(ownSync * 1000)} ms`,
      theirs: `${Math.round(start * 1000)} ms`,
      ratio: ownSync / start,
      ...(known === 10_000 && { most: mostStarts }),
    });
    for (const [at, name] of [
      `put -r of ${count} files`,
      `get -r of ${count} files`,
      `sync of ${known} files with nothing to do`,
      `find of ${count} objects`,
      `rm -r of ${count} objects`,
    ].entries()) {
      const [own, other, complete] = [ours[at], client[at], whole[at]];
      const describe = (runs: readonly MeasuredRun[] | undefined): string =>
        `${Math.round(middle(runs, seconds) * 1000)} ms, ${Math.round(middle(runs, ({ peak }) => peak) / mebibyte)} MiB of memory`;
      report('bench', {
        name: `${name}: rate; an earlier release (690770e) with its own services`,
        ours: describe(own),
        theirs: describe(complete),
        ratio: middle(complete, seconds) / middle(own, seconds),
        ...(least[at] !== undefined && { least: least[at] }),
      });
      const busy = (run: MeasuredRun): number => run.busy * 1000;
      report('bench', {
        name: `${name}: processor time of the client; an earlier release (690770e) with the same service`,
        ours: `${Math.round(middle(own, busy))} ms`,
        theirs: `${Math.round(middle(other, busy))} ms`,
        ratio: middle(own, busy) / middle(other, busy),
        ...(least[at] !== undefined && { most: 1.03 }),
      });
    }
  },
);
