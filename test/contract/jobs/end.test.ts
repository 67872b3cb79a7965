import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestJobs, type TestJobs } from './harness.ts';

/** A job whose end cannot be written, as on a full disk: the attempts become rarer, and neither they nor stopping take the service's time. */

let service: TestJobs;
const log: string[] = [];
beforeAll(async () => {
  service = await createTestJobs({ log: (line) => void log.push(line) });
});
afterAll(() => service.close());

const problem = 'the end of the job cannot be written: an internal error (see the log of the service); the service retries';

/** The pauses that the engine announced, in seconds. */
function listPauses(): number[] {
  return log.flatMap((line) => /cannot be written, next attempt in (\d+) s/.exec(line)?.[1] ?? []).map(Number);
}

test('attempts to write the end of a job become rarer; when there is room it ends, and stopping waits for no attempt', async () => {
  const { bytes } = service.store;
  const { writeCompressed } = bytes;
  const fail = (): Promise<never> => Promise.reject(new Error('no room'));
  const id = await service.create([{ type: 'map', exec: 'wc' }]);
  try {
    Object.assign(bytes, { writeCompressed: fail });
    expect((await service.ask('POST', `/demo/jobs/${id}/live/in/end`)).status).toBe(202);
    while (listPauses().length < 3) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(listPauses().slice(0, 3)).toEqual([1, 2, 4]);
    expect(await service.state(id)).toMatchObject({ state: 'running', problem });
    const before = Date.now();
    await service.restart();
    // The third pause alone is four seconds.
    expect(Date.now() - before).toBeLessThan(3500);
  } finally {
    Object.assign(bytes, { writeCompressed });
  }
  const { job } = await service.wait(id);
  expect([job.state, job.problem]).toEqual(['done', undefined]);
});

test('while the results of tasks cannot be recorded the job says so, without paths of the machine, and no longer once they can', async () => {
  const { store } = service;
  const { writeEntry } = store;
  const id = await service.create([{ type: 'map', exec: 'sleep 0.5; cat' }]);
  expect(await service.state(id)).not.toHaveProperty('problem');
  await service.ask('PUT', '/demo/stor/input', { body: 'x' });
  await service.add(id, ['/demo/stor/input']);
  await expect.poll(async () => (await service.state(id)).stats.tasksDone).toBe(1);
  try {
    const failure = Object.assign(new Error("ENOSPC: no space left on device, write '/srv/data/db'"), { code: 'ENOSPC', syscall: 'write' });
    await service.add(id, ['/demo/stor/input']);
    Object.assign(store, { writeEntry: () => Promise.reject(failure) });
    await expect
      .poll(async () => (await service.state(id)).problem)
      .toBe('the results of the tasks cannot be recorded: no space left on the disk; the service retries');
  } finally {
    Object.assign(store, { writeEntry });
  }
  await expect.poll(async () => await service.state(id)).not.toHaveProperty('problem');
  expect((await service.ask('POST', `/demo/jobs/${id}/live/in/end`)).status).toBe(202);
  expect((await service.wait(id)).job.stats.tasksDone).toBe(2);
});

test('a job that is cancelled while its files are written is cancelled in its files too', async () => {
  const { bytes } = service.store;
  const { writeCompressed } = bytes;
  const id = await service.create([{ type: 'map', exec: 'wc' }]);
  let isCancelled = false;
  try {
    Object.assign(bytes, {
      writeCompressed: async (...given: Parameters<typeof writeCompressed>) => {
        if (!isCancelled) {
          isCancelled = true;
          expect((await service.ask('POST', `/demo/jobs/${id}/live/cancel`)).status).toBe(202);
        }
        return await writeCompressed.apply(bytes, given);
      },
    });
    expect((await service.ask('POST', `/demo/jobs/${id}/live/in/end`)).status).toBe(202);
    const { job } = await service.wait(id);
    expect(job.cancelled).toBe(true);
    const { cancelled } = (await service.ask('GET', `/demo/jobs/${id}/job.json`)).json as typeof job;
    expect(cancelled).toBe(true);
  } finally {
    Object.assign(bytes, { writeCompressed });
  }
});
