import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase } from '../support/cluster-database.ts';
import { report } from '../support/figures.ts';
import { isLong, scale } from '../support/scale.ts';
import { scenarios, type ScenarioName } from '../support/simulator/directed-histories.ts';
import { mistakes } from '../support/simulator/mistakes.ts';
import { prepareSimulations, type Simulations } from '../support/simulator/prepare.ts';
import type { Outcome, Work } from '../support/simulator/storage-history.ts';

/**
 * The protocols of gateways under a simulator: real queries on PostgreSQL, virtual time, and one step after the other in an order that a
 * seed decides. What clients do is chosen by chance too, or fixed, so that what a rule is there for happens each time. `CLOUD_SIMULATION=files/17`
 * or `readSlowly/3` runs one history again, `CLOUD_SIMULATIONS=500` so many of each kind.
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
const histories = Number(process.env['CLOUD_SIMULATIONS'] ?? scale(2, 3000));
/** Milliseconds that a history may take on a machine that does much else. */
const timeLimit = 30_000;
/** Seeds by which a mistake must be found. */
const tries = 10;

type Kind = Work | ScenarioName;
const fixed = Object.keys(scenarios) as ScenarioName[];

const shown = (work: Kind, seed: number, { wrong, history }: Outcome): string =>
  `CLOUD_SIMULATION=${work}/${seed}\n${wrong.join('\n')}\n${history.join('\n')}`;

const [onlyWork, onlySeed] = process.env['CLOUD_SIMULATION']?.split('/') ?? [];

describe.runIf(onlyWork === undefined)('the simulator', () => {
  test('gives the same history for the same seed', { timeout: 14 * timeLimit }, async () => {
    for (const work of [...(isLong ? works : []), 'loseLeaseInWrite', 'commitAndAbort', 'recordTogether'] as const) {
      const [first, again] = [await simulations.storage({ seed: 101, work }), await simulations.storage({ seed: 101, work })];
      expect(again.history).toEqual(first.history);
    }
    const [first, other] = [
      await simulations.storage({ seed: 101, work: 'files' }),
      await simulations.storage({ seed: 102, work: 'files' }),
    ];
    expect(other.digest).not.toBe(first.digest);
  });

  const found = mistakes.flatMap(({ shownBy, ...mistake }) => shownBy.map((work) => ({ ...mistake, work })));

  test.for(found)('finds out in $work when this does not hold: $rule', { timeout: tries * timeLimit }, async ({ rule, work, rewrite }) => {
    for (let seed = 1; seed <= tries; seed += 1) {
      const outcome = await simulations.storage({ seed, work, mutation: { rewrite } });
      // A statement that the server does not understand would be found, too.
      expect(outcome.failures, shown(work, seed, outcome)).toEqual([]);
      if (outcome.wrong.length === 0) continue;
      if (isLong) report('proof', { name: `simulator, without the rule: ${rule}`, ours: `found by ${work}/${seed}` });
      return;
    }
    expect.unreachable(`${tries} histories have not found it`);
  });
});

test(
  'all that clients of gateways which freeze, die and are cut off were told is true',
  { timeout: (works.length + fixed.length) * histories * timeLimit },
  async () => {
    const met = new Map<string, number>();
    let steps = 0;
    const kinds: readonly Kind[] = [...works, ...fixed];
    const runs = kinds.flatMap((work) => Array.from({ length: histories }, (_, index) => ({ work, seed: index + 1 })));
    const chosen = onlyWork === undefined ? runs : [{ work: onlyWork as Kind, seed: Number(onlySeed) }];
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
