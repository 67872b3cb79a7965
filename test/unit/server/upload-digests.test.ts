import { expect, test } from 'vitest';
import { digestParts } from '../../../src/server/storage/digests.ts';
import type { RunningDigest } from '../../../src/server/store/running-digest.ts';
import type { Store } from '../../../src/server/store/store.ts';

test('the states of uploads that nobody ends do not fill memory: the one unused for longest is dropped, and begun anew when needed', async () => {
  let begun = 0;
  const dropped: number[] = [];
  const digest = (): RunningDigest => {
    begun += 1;
    const number = begun;
    return { add: async () => true, value: async () => String(number), drop: () => void dropped.push(number) };
  };
  const store = { digest } as Store;
  const value = (upload: number) => digestParts(store, String(upload), []);
  for (let upload = 1; upload <= 1000; upload += 1) await value(upload);
  expect([await value(1), dropped]).toEqual(['1', []]);
  expect(await value(1001)).toBe('1001');
  expect(dropped).toEqual([2]);
  expect([await value(1), await value(2)]).toEqual(['1', '1002']);
  expect(dropped).toEqual([2, 3]);
});
