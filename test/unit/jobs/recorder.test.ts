import { expect, test } from 'vitest';
import type { ActiveJob, Task } from '../../../src/server/jobs/active-job.ts';
import { createRecorder } from '../../../src/server/jobs/recorder.ts';
import type { Store } from '../../../src/server/store/store.ts';

/** Records an outcome; `write` stands for the transaction. */
async function recordOne(write: () => Promise<unknown>, onRecorded: () => void): Promise<{ ended: unknown; givenUp: number }> {
  let givenUp = 0;
  const record = createRecorder({
    store: { writeEntry: write } as unknown as Store,
    server: 'server',
    now: Date.now,
    log: () => undefined,
    isClosed: () => true,
    expectsMore: () => false,
    onGivenUp: (tasks) => (givenUp += tasks.length),
    onRecorded,
  });
  const task = { job: { id: 'job' } as ActiveJob } as Task;
  const ended = await record({ kind: 'retry', counts: false, task, zone: '' }).catch((error: unknown) => error);
  return { ended, givenUp };
}

const written = (): Promise<unknown> => Promise.resolve({ over: [], unused: [], replaced: [], refused: 0 });

test('an outcome that is on disk is not given up, whatever fails after it', async () => {
  const failure = new Error('a defect');
  const fail = (): never => {
    throw failure;
  };
  expect(await recordOne(written, fail)).toEqual({ ended: failure, givenUp: 0 });
});

test('an outcome that cannot be written is given up', async () => {
  expect(
    await recordOne(
      () => Promise.reject(new Error('no disk')),
      () => undefined,
    ),
  ).toEqual({ ended: undefined, givenUp: 1 });
});
