import { afterAll, beforeAll, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../src/server/store/unavailable.ts';
import { createTestJobs, type TestJobs } from './harness.ts';

/** What a task reads and writes cannot be had for a while: it waits for that, and does not fail of it. */

let service: TestJobs;
const text = 'x'.repeat(100_000);
beforeAll(async () => {
  service = await createTestJobs();
  await service.put('/demo/stor/a', text);
});
afterAll(() => service.close());

/** More than the times that a task is tried where the service itself fails it. */
const failures = 4;

type Bytes = TestJobs['store']['bytes'];

/** Has each of some methods of the store of contents fail at first. @returns what puts them right, and how often they have failed */
function breakMethods(...names: readonly (keyof Bytes)[]): { restore: () => void; count: () => number } {
  const bytes = service.store.bytes as unknown as Record<string, (...words: unknown[]) => unknown>;
  const whole = names.map((name) => [name, bytes[name]] as const);
  let failed = 0;
  for (const [name, method] of whole) {
    bytes[name] = (...words) => {
      if (failed >= failures) return method?.apply(bytes, words);
      failed += 1;
      throw new StoreUnavailable('the store of the contents is away');
    };
  }
  return {
    restore: () => {
      for (const [name, method] of whole) if (method) bytes[name] = method;
    },
    count: () => failed,
  };
}

test.each([
  ['its input', ['place', 'read']],
  ['its output', ['keep', 'write']],
] as const)('the store is away for %s', async (_, methods) => {
  const { restore, count } = breakMethods(...methods);
  try {
    const { errors, contents, job } = await service.run([{ exec: 'cat' }], ['/demo/stor/a']);
    expect([errors, contents.map((each) => each === text), job.stats.retries, count()]).toEqual([[], [true], failures, failures]);
  } finally {
    restore();
  }
});

test('the store is away for an asset: the phase waits for it', async () => {
  await service.put('/demo/stor/asset', text);
  const { restore, count } = breakMethods('read');
  try {
    const phase = { exec: 'cat', init: 'cat "$MANTA_ASSETS/demo/stor/asset" >&2', assets: ['/demo/stor/asset'] };
    const { errors, contents } = await service.run([phase], ['/demo/stor/a']);
    expect([errors, contents.map((each) => each === text), count()]).toEqual([[], [true], failures]);
  } finally {
    restore();
  }
});
