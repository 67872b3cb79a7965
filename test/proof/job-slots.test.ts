import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestJobs, type TestJobs } from '../contract/jobs/harness.ts';

/** How long a job can keep the slots that others wait for. */

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs({ slots: 2 });
});
afterAll(() => service.close());

test('a cancelled job whose init sleeps for an hour frees its slots within 2 s', async () => {
  await service.put('/demo/stor/a', 'a\n');
  const id = await service.create([{ init: 'sleep 3600', exec: 'cat' }]);
  await service.add(id, ['/demo/stor/a', '/demo/stor/a']);
  const waiting = await service.create([{ exec: 'cat' }]);
  await service.add(waiting, ['/demo/stor/a'], true);
  await expect.poll(() => service.countStarting()).toBe(2);
  const begun = Date.now();
  expect((await service.ask('POST', `/demo/jobs/${id}/live/cancel`)).status).toBe(202);
  expect((await service.wait(waiting)).contents).toEqual(['a\n']);
  expect(Date.now() - begun).toBeLessThan(2000);
});

test('of 64 inputs one sleeps for 12 s: the others are done within 3 s on two slots', async () => {
  const inputs = Array.from({ length: 64 }, (_, index) => `/demo/stor/n${index}`);
  for (const [index, input] of inputs.entries()) await service.put(input, index === 20 ? 'slow\n' : `${index}\n`);
  const id = await service.create([{ exec: 'read -r n; [ "$n" != slow ] || sleep 12; echo "$n"' }]);
  const begun = Date.now();
  await service.add(id, inputs, true);
  await expect.poll(async () => (await service.state(id)).stats.tasksDone, { timeout: 3000, interval: 20 }).toBe(63);
  expect(Date.now() - begun).toBeLessThan(3000);
  expect((await service.wait(id, 20_000)).errors).toEqual([]);
});
