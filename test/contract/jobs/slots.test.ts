import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestJobs, type TestJobs } from './harness.ts';

/** No job keeps from others what it does not use. */

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs({ slots: 2 });
  await service.put('/demo/stor/a', 'a\n');
});
afterAll(() => service.close());

const long = { init: 'sleep 3600', exec: 'cat' };

describe('an init that takes long', () => {
  test('frees its slots when the job is cancelled', async () => {
    const id = await service.create([long]);
    await service.add(id, ['/demo/stor/a', '/demo/stor/a']);
    const waiting = await service.create([{ exec: 'cat' }]);
    await service.add(waiting, ['/demo/stor/a'], true);
    await expect.poll(() => service.countStarting()).toBe(2);
    expect((await service.ask('POST', `/demo/jobs/${id}/live/cancel`)).status).toBe(202);
    expect((await service.wait(waiting)).contents).toEqual(['a\n']);
    expect((await service.wait(id)).job).toMatchObject({ state: 'done', cancelled: true });
  });

  test('leaves no slot free that another job gives up meanwhile', async () => {
    const holding = await service.create([long]);
    await service.add(holding, ['/demo/stor/a']);
    await expect.poll(() => service.countStarting()).toBe(1);
    const id = await service.create([long]);
    await service.add(id, ['/demo/stor/a', '/demo/stor/a']);
    await expect.poll(() => service.countStarting()).toBe(2);
    expect((await service.ask('POST', `/demo/jobs/${holding}/live/cancel`)).status).toBe(202);
    await service.wait(holding);
    await expect.poll(() => service.countStarting()).toBe(2);
    expect((await service.ask('POST', `/demo/jobs/${id}/live/cancel`)).status).toBe(202);
    await service.wait(id);
  });

  test('keeps no service from ending', async () => {
    const other = await createTestJobs({ slots: 2 });
    await other.put('/demo/stor/a', 'a\n');
    const id = await other.create([long]);
    await other.add(id, ['/demo/stor/a', '/demo/stor/a']);
    await expect.poll(() => other.countStarting()).toBe(2);
    await other.close();
  });
});

describe('a task that takes long', () => {
  test('keeps none waiting behind it: the others of 40 inputs are done before it on two slots', async () => {
    const inputs = Array.from({ length: 40 }, (_, index) => `/demo/stor/n${index}`);
    for (const [index, input] of inputs.entries()) await service.put(input, index === 20 ? 'slow\n' : `${index}\n`);
    const id = await service.create([{ exec: 'read -r n; [ "$n" != slow ] || sleep 3600; echo "$n"' }]);
    await service.add(id, inputs, true);
    await expect.poll(async () => (await service.state(id)).stats.tasksDone).toBe(39);
    expect((await service.ask('POST', `/demo/jobs/${id}/live/cancel`)).status).toBe(202);
    const { contents, job } = await service.wait(id);
    const others = [...inputs.keys()].filter((index) => index !== 20);
    expect(contents.map(Number).toSorted((a, b) => a - b)).toEqual(others);
    expect(job.stats).toMatchObject({ tasks: 40, outputs: 39, retries: 0 });
  });

  test('does so again and again: every input is done once, whichever are slow', async () => {
    const inputs = Array.from({ length: 60 }, (_, index) => `/demo/stor/m${index}`);
    for (const [index, input] of inputs.entries()) await service.put(input, `${index % 15 === 7 ? 0.4 : 0} ${index}\n`);
    const { contents, errors, job } = await service.run([{ exec: 'read -r time n; [ "$time" = 0 ] || sleep "$time"; echo "$n"' }], inputs);
    expect(errors).toEqual([]);
    expect(contents.map(Number).toSorted((a, b) => a - b)).toEqual([...inputs.keys()]);
    expect(job.stats).toMatchObject({ tasks: 60, tasksDone: 60, outputs: 60 });
  });
});
