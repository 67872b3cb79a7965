import { expect, test } from 'vitest';
import { readClock } from '../../../src/base/clock.ts';
import { readLostTime, readRunningClock, TimeLimit, watchClock } from '../../../src/http/time-limit.ts';

/** Milliseconds. */
const limit = 300;
const stopped = 1200;

/** Stops this thread, as Ctrl-Z stops a process. */
const stopHere = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stopped);

const expire = (): Promise<void> => new Promise((resolve) => void new TimeLimit(limit, resolve));

test('a time limit starts again after the process was stopped, and time in which it was does not count', async () => {
  watchClock();
  await expire();
  const [lost, running] = [readLostTime(), readRunningClock()];
  const expired = expire();
  stopHere();
  const continued = readClock();
  await expired;
  expect(readClock() - continued).toBeGreaterThan(limit - 2);
  expect(readLostTime() - lost).toBeGreaterThan(stopped / 2);
  expect(readRunningClock() - running).toBeLessThan(readClock() - continued + stopped / 2 + 2);
});
