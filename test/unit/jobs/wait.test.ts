import { expect, test, vi } from 'vitest';
import { NetworkError } from '../../../src/base/errors.ts';
import type { JobContext } from '../../../src/commands/jobs/find.ts';
import { pollJob } from '../../../src/commands/jobs/wait.ts';

test.each([0, 3, 10])('a wait repeats a failed read as often as the client says: %i times', async (retries) => {
  vi.useFakeTimers();
  try {
    let reads = 0;
    const getJob = async (): Promise<never> => {
      reads += 1;
      throw new NetworkError('cut', { code: 'ECONNRESET' });
    };
    const context = { account: 'demo', storage: { getJob, retries }, world: { now: Date.now, interrupted: new AbortController().signal } };
    const ended = pollJob(context as unknown as JobContext, '4ef0ff4c-0a6f-4a9c-b0b5-2d5b9d5f0c53')
      .next()
      .catch(String);
    await vi.runAllTimersAsync();
    expect([await ended, reads]).toEqual(['Error: cut', retries + 1]);
  } finally {
    vi.useRealTimers();
  }
});
