import { describe, expect, test } from 'vitest';
import { createJobBar } from '../../../src/commands/jobs/job-bar.ts';
import type { KnownJob } from '../../../src/commands/jobs/find.ts';

const job = (stats: object, inputDone = true): KnownJob => ({ id: 'j', state: 'running', stats, inputDone }) as KnownJob;

describe('the bar of a job', () => {
  test('has the share, the rate of the last moments and what is left at that rate', () => {
    let now = 0;
    const describeBar = createJobBar(() => now);
    expect(describeBar(job({ tasks: 1000, tasksDone: 0, outputs: 0, errors: 0 }))).toBe(
      `${' '.repeat(24)}   0%  0 of 1000 tasks done, 0 outputs, 0 errors`,
    );
    now = 2000;
    expect(describeBar(job({ tasks: 1000, tasksDone: 500, outputs: 500, errors: 1 }))).toBe(
      `${'█'.repeat(12)}${' '.repeat(12)}  50%  500 of 1000 tasks done, 500 outputs, 1 error, 250/s, 2s left`,
    );
    now = 4000;
    expect(describeBar(job({ tasks: 1000, tasksDone: 1000, outputs: 1000, errors: 1 }))).toBe(
      `${'█'.repeat(24)} 100%  1000 of 1000 tasks done, 1000 outputs, 1 error, 250/s`,
    );
  });

  test('says nothing of the time while the input is open, and draws none of a job that does not tell its tasks', () => {
    let now = 0;
    const describeBar = createJobBar(() => now);
    expect(describeBar(job({}))).toBe('running');
    describeBar(job({ tasks: 4, tasksDone: 0 }, false));
    now = 1000;
    expect(describeBar(job({ tasks: 4, tasksDone: 1 }, false))).toBe(
      `${'█'.repeat(6)}${' '.repeat(18)}  25%  1 of 4 tasks done, input open, 1.0/s`,
    );
  });
});
