import { expect, test } from 'vitest';
import { countByAccount, orderByShare, type Sharer } from '../../../src/server/jobs/shares.ts';

/** Who gets a free slot of an engine, when several jobs of several accounts have tasks. */

interface TestJob extends Sharer {
  readonly name: string;
  served: number;
  readonly zones: { load: number }[];
}

/** A job with zones that work on so many tasks each. */
function createJob(account: string, name: string, ...loads: readonly number[]): TestJob {
  const zones = loads.map((load) => ({ load }));
  const phases = [{ opening: 0, zones }];
  return { account: { id: account } as never, name, served: 0, zones, phases };
}

const names = (jobs: readonly TestJob[]): string[] => jobs.map(({ name }) => name);

test('who has least comes first: by account, then by job', () => {
  const jobs = [createJob('a', 'a1', 1, 1), createJob('a', 'a2'), createJob('b', 'b1', 1), createJob('b', 'b2', 0)];
  expect(names(orderByShare(jobs, jobs))).toEqual(['b2', 'b1', 'a2', 'a1']);
  // What an account does elsewhere counts.
  expect(names(orderByShare(jobs, [...jobs, createJob('b', 'b3', 1, 1)]))).toEqual(['a2', 'a1', 'b2', 'b1']);
  expect(countByAccount(jobs)).toEqual(
    new Map([
      ['a', 2],
      ['b', 1],
    ]),
  );
});

test('zones that are being made count, and how many tasks one of them has does not', () => {
  const [few, many] = [createJob('a', 'few', 1), createJob('b', 'many', 30)];
  const opening = { ...createJob('c', 'opening'), phases: [{ opening: 2, zones: [] }] };
  expect(names(orderByShare([opening, many, few], [opening, many, few]))).toEqual(['many', 'few', 'opening']);
});

/** Gives one slot after the other, each of which is free again after three others. @returns whom */
function deal(jobs: readonly TestJob[], slots: number): string[] {
  const given: string[] = [];
  for (let slot = 1; slot <= slots; slot += 1) {
    const [next] = orderByShare(jobs, jobs);
    if (!next) break;
    const zone = { load: 1 };
    next.zones.push(zone);
    next.served = slot;
    given.push(next.name);
    const over = jobs.find(({ name }) => name === given.at(-3));
    if (over) over.zones.shift();
  }
  return given;
}

test('over time accounts get as many as each other, however many jobs they have, and so do the jobs of each', () => {
  const jobs = [createJob('a', 'a1'), createJob('a', 'a2'), createJob('a', 'a3'), createJob('b', 'b1')];
  const given = deal(jobs, 120);
  const count = (name: string): number => given.filter((each) => each === name).length;
  expect(count('b1')).toBe(60);
  expect(['a1', 'a2', 'a3'].map(count)).toEqual([20, 20, 20]);
});

test('nobody waits, nobody is first', () => {
  expect(orderByShare([], [createJob('a', 'a1')])).toEqual([]);
});
