import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { ignoreAbort, stopOnAbort } from '../../../src/http/abort.ts';

test('all requests of a signal share a listener, which goes with the last of them', () => {
  const { signal } = new AbortController();
  const stops = [() => undefined, () => undefined];
  for (const stop of stops) stopOnAbort(signal, stop);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  for (const stop of stops) ignoreAbort(signal, stop);
  ignoreAbort(signal, stops[0] ?? (() => undefined));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  stopOnAbort(signal, () => undefined);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
});

test('an abort stops each request that is still there, although each then leaves', () => {
  const controller = new AbortController();
  const stopped: number[] = [];
  const all = [0, 1, 2, 3].map((number) => {
    const stop = (): void => {
      stopped.push(number);
      ignoreAbort(controller.signal, stop);
    };
    stopOnAbort(controller.signal, stop);
    return stop;
  });
  if (all[1]) ignoreAbort(controller.signal, all[1]);
  controller.abort();
  expect(stopped).toEqual([0, 2, 3]);
});
