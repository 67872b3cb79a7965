import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WaitError } from '../../../src/base/errors.ts';
import { within } from '../../../src/cli/wait.ts';
import { pause } from '../../../src/client/retry.ts';

test('a time limit longer than a timer can have does not expire immediately', async () => {
  const explain = (): WaitError => new WaitError('too late');
  const month = 30 * 86_400_000;
  expect(await within(month, sleep(20, 'done'), explain)).toBe('done');
  await expect(within(1, sleep(50, 'done'), explain)).rejects.toThrow('too late');
});

test('a pause ends when it is interrupted, also before it began, and not because it is long', async () => {
  const interruption = new AbortController();
  let isOver = false;
  const long = pause(30 * 86_400_000, interruption.signal).then(() => (isOver = true));
  await sleep(20);
  expect(isOver).toBe(false);
  interruption.abort();
  await long;
  await pause(60_000, interruption.signal);
});
