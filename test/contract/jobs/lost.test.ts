import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadJob, type ActiveJob } from '../../../src/server/jobs/active-job.ts';
import { claimTasks, type Claim } from '../../../src/server/jobs/claims.ts';
import { createTaskLeases, mostLosses } from '../../../src/server/jobs/leases.ts';
import type { TaskLeases } from '../../../src/server/jobs/task-leases.ts';
import { runsOnPostgres } from '../../support/cluster-database.ts';
import { findIsolation } from './harness.ts';
import { createTestStorage, type TestStorage } from '../storage/harness.ts';

/** Tasks during which the only process of a database dies, again and again. On PostgreSQL leases expire (test/cluster). */

let service: TestStorage;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cloud-lost-'));
  // Nobody runs the tasks.
  const detected = Promise.resolve({ isolation: await findIsolation() });
  const idle = { detected, wake: () => undefined, problemOf: () => undefined, close: async () => undefined };
  service = await createTestStorage({ startJobs: () => idle });
  for (const name of ['a', 'b', 'c']) await service.put(`/demo/stor/${name}`, name);
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true });
});

test.skipIf(runsOnPostgres())('a task during which the process dies fails in the end, and the others do not', async () => {
  const created = await service.ask('POST', '/demo/jobs', { json: { phases: [{ exec: 'cat' }] } });
  const id = created.headers['location']?.split('/').at(-1) ?? '';
  const body = ['a', 'b', 'c'].map((name) => `/demo/stor/${name}\n`).join('');
  await service.ask('POST', `/demo/jobs/${id}/live/in`, { body, headers: { 'content-type': 'text/plain' } });

  /** A process: what it claims first, and how it claims more. */
  async function start(): Promise<{ leases: TaskLeases; job: ActiveJob; claim: () => Promise<Claim> }> {
    const leases = createTaskLeases(service.store, 'the test', Infinity, join(folder, 'running'));
    await leases.collectLost();
    const job = await loadJob(service.store.db, id, Date.now);
    const [phase] = job?.phases ?? [];
    if (!job || !phase) throw new Error('no job');
    return { leases, job, claim: () => claimTasks(service.store, leases, job, phase, 512) };
  }
  const numbersOf = ({ tasks }: Claim): number[] => tasks.map(({ number }) => number);

  const first = await start();
  const { tasks } = await first.claim();
  expect(tasks.map(({ number, lost }) => [number, lost])).toEqual([
    [0, 0],
    [1, 0],
    [2, 0],
  ]);
  // The last one has not begun when the process dies, or has ended.
  for (const task of tasks) {
    const end = first.leases.begin(task);
    if (task.number === 2) end();
  }
  for (let deaths = 1; deaths < mostLosses; deaths += 1) {
    const { leases, claim } = await start();
    const claimed = await claim();
    // Of those that ran one, and all that did not.
    expect(numbersOf(claimed)).toEqual([0, 2]);
    expect(numbersOf(await claim())).toEqual([]);
    expect(claimed.tasks[0]?.lost).toBe(deaths);
    for (const task of claimed.tasks) if (task.lost > 0) leases.begin(task);
  }
  const last = await start();
  const { failures } = await last.claim();
  expect(failures.map(({ task, failure }) => [task.number, failure.message])).toEqual([
    [0, `the workers that ran the task died ${mostLosses} times while running it`],
  ]);
  last.leases.forget(failures.map(({ task }) => task));
  await service.store.db.updateTable('job_tasks').set({ state: 'failed' }).where('job', '=', id).where('number', '=', 0).execute();
  const next = await last.claim();
  expect(next.tasks.map(({ number, lost }) => [number, lost])).toEqual([[1, 1]]);
  // A process that ends as it should leaves the tasks to the next one, without counting that.
  const [suspect] = next.tasks;
  if (!suspect) throw new Error('no task');
  last.leases.begin(suspect)();
  last.leases.close();
  const later = await start();
  expect((await later.claim()).tasks.map(({ number, lost }) => [number, lost])).toEqual([
    [1, 1],
    [2, 0],
  ]);
});
