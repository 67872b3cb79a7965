import { expect, test } from 'vitest';
import { createRateLimit, takeOwn, type TakeTokens } from '../../../src/server/access/request-rate.ts';
import { LimitReached } from '../../../src/server/limit.ts';
import { createLoadGuard } from '../../../src/server/shed-load.ts';

/** Rates and load under a clock of the test: what passes, and when the next may try again. */

const account = { id: 'a', login: 'demo' };

/** A rate of 20 a second, as one process has it. */
function createRate(rate: number): {
  pass: (count: number, of?: typeof account & { most_requests?: number | null }) => Promise<number>;
  refusal: () => Promise<unknown>;
  wait: (milliseconds: number) => void;
  asked: () => number;
} {
  let [time, asked] = [1000, 0];
  const take = takeOwn(() => time);
  const counting: TakeTokens = (...words) => {
    asked += 1;
    return take(...words);
  };
  const admit = createRateLimit({ serviceLimits: { accountRequests: rate } }, counting, () => time);
  const tryOnce = (of = account): Promise<unknown> => admit('storage', of).catch((error: unknown) => error);
  return {
    pass: async (count, of) => {
      const tried = await Promise.all(Array.from({ length: count }, () => tryOnce(of)));
      return tried.filter((error) => error === undefined).length;
    },
    refusal: () => tryOnce(),
    wait: (milliseconds) => {
      time += milliseconds;
    },
    asked: () => asked,
  };
}

test('as many requests pass at once as a second gives, and then as many as the time gives', async () => {
  const { pass, wait, asked } = createRate(20);
  expect(await pass(50)).toBe(20);
  // Two tokens for each asking, and once to find none.
  expect(asked()).toBe(11);
  expect(await pass(50)).toBe(0);
  expect(asked()).toBe(11);
  wait(500);
  expect(await pass(50)).toBe(10);
  wait(10_000);
  expect(await pass(50)).toBe(20);
});

test('a refusal says when to try again, and accounts have rates of their own', async () => {
  const { pass, refusal, wait } = createRate(1);
  expect(await pass(5)).toBe(1);
  expect(await refusal()).toMatchObject({ status: 429, code: 'RequestThrottled', retryAfter: 1, limit: 'account-requests' });
  expect(await pass(5, { id: 'b', login: 'other', most_requests: 3 })).toBe(3);
  expect(await pass(5, { id: 'c', login: 'third', most_requests: null })).toBe(1);
  wait(1000);
  expect(await pass(5)).toBe(1);
});

test('an account without a rate costs nothing', async () => {
  const { pass, asked } = createRate(Infinity);
  expect([await pass(100), asked()]).toEqual([100, 0]);
});

test('a failure to get tokens is that of the request, and the next one tries again', async () => {
  let fails = true;
  const take: TakeTokens = () => (fails ? Promise.reject(new Error('away')) : Promise.resolve({ granted: 1, left: 0 }));
  const admit = createRateLimit({ serviceLimits: { accountRequests: 5 } }, take, () => 0);
  await expect(admit('compute', account)).rejects.toThrow('away');
  fails = false;
  await admit('compute', account);
});

test('a gateway refuses requests beyond those that it may have under way, until one of them ends', () => {
  const { begin, refusal } = createLoadGuard({ serviceLimits: { runningRequests: 2 } }, () => 0);
  const ends = [begin(), begin()];
  expect(refusal()).toBeUndefined();
  const third = begin();
  expect(refusal()).toBeInstanceOf(LimitReached);
  expect(refusal()).toMatchObject({ status: 503, code: 'ServiceUnavailable', retryAfter: 1, limit: 'running-requests' });
  third();
  ends[0]?.();
  // Again does nothing.
  ends[0]?.();
  begin();
  expect(refusal()).toBeUndefined();
  begin();
  expect(refusal()).toBeDefined();
});

test('a gateway that has used its memory refuses what is more than a few requests, and measures seldom', () => {
  let [memory, time, measured] = [90, 0, 0];
  const measure = (): number => {
    measured += 1;
    return memory;
  };
  const { begin, refusal } = createLoadGuard({ serviceLimits: { memoryPercent: 80 } }, measure, () => time);
  for (let count = 0; count < 16; count += 1) begin();
  expect([refusal(), measured]).toEqual([undefined, 0]);
  begin();
  expect(refusal()).toMatchObject({ status: 503, limit: 'memory-percent', retryAfter: 1 });
  memory = 70;
  expect([refusal() === undefined, measured]).toEqual([false, 1]);
  time += 100;
  expect([refusal(), measured]).toEqual([undefined, 2]);
});
