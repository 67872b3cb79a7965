import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase } from '../support/cluster-database.ts';
import { report } from '../support/figures.ts';
import { isLong, scale } from '../support/scale.ts';
import { mistakes, type Mistake } from '../support/simulator/mistakes.ts';
import { prepareSimulations, type Simulations } from '../support/simulator/prepare.ts';
import type { Outcome, Work } from '../support/simulator/storage-history.ts';

/**
 * The protocols of gateways under a simulator: real queries on PostgreSQL, virtual time, and one step after the other in an order that a
 * seed decides. `CLOUD_SIMULATION=files/17` runs one history again, `CLOUD_SIMULATIONS=500` so many of each kind.
 */

let simulations: Simulations;
let drop: () => Promise<void>;
beforeAll(async () => {
  const database = await createDatabase();
  drop = database.drop;
  simulations = await prepareSimulations(database.url);
});
afterAll(async () => {
  await simulations.close();
  await drop();
});

const works: readonly Work[] = ['objects', 'files', 'directories'];
const histories = Number(process.env['CLOUD_SIMULATIONS'] ?? scale(3, 3000));
/** Milliseconds that a history may take on a machine that does much else. */
const patience = 30_000;
/** Seeds behind the one that is known to show a mistake: another release of PostgreSQL may give another history. */
const others = 20;

const shown = (work: Work, seed: number, { wrong, history }: Outcome): string =>
  `CLOUD_SIMULATION=${work}/${seed}\n${wrong.join('\n')}\n${history.join('\n')}`;

const [onlyWork, onlySeed] = process.env['CLOUD_SIMULATION']?.split('/') ?? [];

describe.runIf(onlyWork === undefined)('the simulator', () => {
  test('gives the same history for the same seed', { timeout: works.length * 4 * patience }, async () => {
    for (const work of works) {
      const [first, again, other] = [
        await simulations.storage({ seed: 101, work }),
        await simulations.storage({ seed: 101, work }),
        await simulations.storage({ seed: 102, work }),
      ];
      expect(again.history).toEqual(first.history);
      expect(other.digest).not.toBe(first.digest);
    }
  });

  const search = async (mistake: Mistake): Promise<number | undefined> => {
    const { work, seed } = mistake;
    for (let tried = seed; tried <= seed + others; tried += 1)
      if ((await simulations.storage({ seed: tried, work, mutation: mistake })).wrong.length > 0) return tried;
    return undefined;
  };

  test.for(mistakes)('finds out when this does not hold: $rule', { timeout: (others + 1) * patience }, async (mistake) => {
    const found = await search(mistake);
    expect(found).toBeDefined();
    if (isLong) report('proof', { name: `simulator, without the rule: ${mistake.rule}`, ours: `found by ${mistake.work}/${found}` });
  });
});

test(
  'all that clients of gateways which freeze, die and are cut off were told is true',
  { timeout: works.length * histories * patience },
  async () => {
    const met = new Map<string, number>();
    let steps = 0;
    const runs = works.flatMap((work) => Array.from({ length: histories }, (_, index) => ({ work, seed: index + 1 })));
    const chosen = onlyWork === undefined ? runs : [{ work: onlyWork as Work, seed: Number(onlySeed) }];
    for (const { work, seed } of chosen) {
      const outcome = await simulations.storage({ work, seed });
      expect(outcome.wrong, shown(work, seed, outcome)).toEqual([]);
      steps += outcome.steps;
      for (const [danger, times] of outcome.met) met.set(danger, (met.get(danger) ?? 0) + times);
    }
    const dangers = [...met].map(([danger, times]) => `${danger} ${times}`).toSorted();
    const ours = `${chosen.length} histories, ${steps} steps (${dangers.join(', ')}), nothing wrong`;
    report('proof', { name: 'simulator: gateways and collectors', ours, promise: 'each seed gives one history, and each is right' });
  },
);
