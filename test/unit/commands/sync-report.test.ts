import { expect, test } from 'vitest';
import { reportTo } from '../../../src/commands/stor/sync-steps.ts';
import type { Tally } from '../../../src/commands/stor/tally.ts';

/** Reports so many files with nothing to do, a file with something to do, and as many again; what was put off and undone, in order. */
async function report(count: number): Promise<string[]> {
  const events: string[] = [];
  const tally = {
    pass: () => undefined,
    skip: () => undefined,
    fail: () => Promise.resolve(),
    attempt: (rel: string) => void events.push(rel),
  } as unknown as Tally;
  const { pass, attempt } = reportTo(tally, () => {
    events.push('put off');
    return Promise.resolve(() => void events.push('undone'));
  });
  for (let passed = 0; passed < count; passed += 1) pass();
  await Promise.resolve();
  for (const rel of ['first', 'second']) await attempt(rel, () => Promise.resolve());
  for (let passed = 0; passed < count; passed += 1) pass();
  return events;
}

test('what is put off for many files with nothing to do is undone before work on a file begins, which loads modules', async () => {
  expect(await report(500)).toEqual(['put off', 'undone', 'first', 'second']);
  expect(await report(499)).toEqual(['first', 'second']);
});
