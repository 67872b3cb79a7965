import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ActiveZone, Task } from '../../../src/server/jobs/active-job.ts';
import { runTask } from '../../../src/server/jobs/run-task.ts';
import { createQueue } from '../../../src/server/jobs/zone-queue.ts';

const ending = '0 0 0 0 0';

test('where no mark can be written, as on a full disk, tasks are not withdrawn, and the service goes on', async () => {
  const queue = createQueue({ directory: '/nonexistent', timeLimit: 1000 }, { judge: () => undefined } as never, () => undefined);
  const tasks = ['0', '1'].map((slot) => queue.expect(slot));
  queue.takeBack();
  await setImmediate();
  await setImmediate();
  for (const slot of ['0', '1']) queue.takeLine(`${slot} ${ending}`);
  expect((await Promise.all(tasks)).map(({ status }) => status)).toEqual([0, 0]);
});

test('a task whose slot cannot be created is tried again in another zone', async () => {
  const take = (): never => {
    throw new Error('ENOSPC');
  };
  const active = { zone: { name: 'zone' }, slots: { take } } as unknown as ActiveZone;
  const released: boolean[] = [];
  const result = await runTask({} as never, active, { tries: 0 } as Task, (isGone) => released.push(isGone));
  expect([result, released]).toEqual([expect.objectContaining({ kind: 'retry', counts: true }), [true]]);
});
