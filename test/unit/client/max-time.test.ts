import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { streamOf } from '../../../src/api/message.ts';
import { limitTime } from '../../../src/client/max-time.ts';
import { watchSilence } from '../../../src/client/silence.ts';

const url = new URL('https://cloud.test');

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
  const limit = limitTime(20, url);
  for await (const _ of limit.watch(streamOf(Buffer.from('x'))));
  await sleep(40);
  expect(limit.signal.aborted).toBe(false);
});

test('silence counts while somebody waits for a piece, not while it is being used', async () => {
  let given = 0;
  async function* two(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('x');
    yield Buffer.from('y');
    await sleep(60);
  }
  const pieces = watchSilence(two(), 30, () => (given += 1));
  await pieces.next();
  await sleep(60);
  await pieces.next();
  expect(given).toBe(0);
  await pieces.next();
  expect(given).toBe(1);
});
