import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { streamOf } from '../../../src/api/message.ts';
import { limitTime } from '../../../src/http/max-time.ts';
import { watchSilence } from '../../../src/http/silence.ts';

const url = new URL('https://cloud.test');
const timers = { toFake: ['setTimeout' as const, 'clearTimeout' as const] };

afterEach(() => void vi.useRealTimers());

test('when the time of a request is over its body fails, with words for it', async () => {
  const limit = limitTime(20, url);
  async function* drip(): AsyncGenerator<Uint8Array> {
    while (!limit.signal.aborted) {
      await sleep(5);
      yield Buffer.from('x');
    }
    throw new Error('aborted');
  }
  const read = async (): Promise<void> => {
    for await (const _ of limit.watch(drip()));
  };
  await expect(read()).rejects.toMatchObject({ code: 'MaxTime', message: 'cloud.test did not finish in time' });
});

test('a body that was read to its end in time is left alone', async () => {
  vi.useFakeTimers(timers);
  const limit = limitTime(20, url);
  for await (const _ of limit.watch(streamOf(Buffer.from('x'))));
  vi.advanceTimersByTime(40);
  expect(limit.signal.aborted).toBe(false);
});

test('silence counts while somebody waits for a piece, not while it is being used', async () => {
  vi.useFakeTimers(timers);
  let given = 0;
  let end = (): void => undefined;
  async function* two(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('x');
    yield Buffer.from('y');
    await new Promise<void>((resolve) => (end = resolve));
  }
  const pieces = watchSilence(two(), 30, () => (given += 1));
  await pieces.next();
  vi.advanceTimersByTime(60);
  await pieces.next();
  expect(given).toBe(0);
  const last = pieces.next();
  // What is waited for begins in a later turn.
  await new Promise((resolve) => void setImmediate(resolve));
  vi.advanceTimersByTime(60);
  expect(given).toBe(1);
  end();
  await last;
});
