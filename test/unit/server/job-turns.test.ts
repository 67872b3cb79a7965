import { expect, test } from 'vitest';
import { orderByTurn } from '../../../src/server/jobs/scheduler.ts';

/** Whose job comes first in each of the turns of a scheduler. */

function createJobs(...accounts: readonly string[]): { account: never; name: string }[] {
  return accounts.map((id, index) => ({ account: { id } as never, name: `${id}${index}` }));
}

test('an account comes first as often as another, however many jobs it has, and each of its jobs does', () => {
  const jobs = createJobs('a', 'a', 'b', 'a');
  const firsts = Array.from({ length: 12 }, (_, turn) => orderByTurn(jobs, turn)[0]?.name ?? '');
  const count = (name: string): number => firsts.filter((first) => first === name).length;
  expect(['a0', 'a1', 'a3', 'b2'].map(count)).toEqual([2, 2, 2, 6]);
});

test('each turn has every job once', () => {
  const jobs = createJobs('a', 'b', 'b', 'c');
  for (let turn = 0; turn < 10; turn += 1) expect(new Set(orderByTurn(jobs, turn))).toEqual(new Set(jobs));
  expect(orderByTurn([], 3)).toEqual([]);
});
