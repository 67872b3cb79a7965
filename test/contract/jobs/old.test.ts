import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClock } from '../../../src/server/clock.ts';
import { forgetOldJobs } from '../../../src/server/jobs/old-jobs.ts';
import type { Schema } from '../../../src/server/store/schema.ts';
import { runsOnPostgres } from '../../support/cluster-database.ts';
import { createTestJobs, narrow, type TestJobs } from './harness.ts';

/** Jobs that have been done for longer than `--limit job-days` are known by their files alone. */

const day = 86_400_000;
const clock = createClock(Date.now);
let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs({ ...narrow, now: clock.now }, { serviceLimits: { jobDays: 3 } });
  await service.put('/demo/stor/a', 'a\n');
});
afterAll(() => service.close());

const tables = ['jobs', 'job_phases', 'job_tasks', 'job_reduce_inputs', 'job_outputs', 'job_errors', 'job_causes', 'job_adders'] as const;

/** How many rows each table has of a job. */
async function countRows(job: string): Promise<Record<string, number>> {
  const count = async (table: (typeof tables)[number]): Promise<number> => {
    const column = table === 'jobs' ? 'id' : 'job';
    const rows = await service.store.db
      .selectFrom(table as keyof Schema)
      .selectAll()
      .where(sql<boolean>`${sql.ref(column)} = ${job}`)
      .execute();
    return rows.length;
  };
  return Object.fromEntries(await Promise.all(tables.map(async (table) => [table, await count(table)] as const)));
}
const none = Object.fromEntries(tables.map((table) => [table, 0]));
const readStatus = async (id: string): Promise<number> => (await service.ask('GET', `/demo/jobs/${id}/live/status`)).status;

/** Lets time pass; on PostgreSQL, whose clock decides there, the jobs become older. */
async function pass(time: number): Promise<void> {
  if (!runsOnPostgres()) return clock.advance(time);
  await sql`update jobs set done = done - ${time} where state = 'done'`.execute(service.store.db);
}

/** A job with rows in the tables of tasks, reducers, outputs and errors. */
async function runJob(): Promise<string> {
  const phases = [{ exec: 'cat; [ "$MANTA_INPUT_FILE" != "" ]' }, { type: 'reduce', exec: 'cat' }] as const;
  const { id } = await service.run(phases, ['/demo/stor/a', '/demo/stor/missing']);
  return id;
}

test('the next job that is created removes what is left of them, and neither files nor other jobs', async () => {
  const [old, open] = [await runJob(), await service.create([{ exec: 'cat' }])];
  const before = await countRows(old);
  expect(Object.keys(before).filter((table) => before[table] === 0)).toEqual(['job_adders']);
  await pass(3 * day - 60_000);
  const { id: young } = await service.run([{ exec: 'cat' }], ['/demo/stor/missing']);
  expect([await readStatus(old), await countRows(old)]).toEqual([200, before]);
  await pass(2 * 60_000);
  await service.create([{ exec: 'cat' }]);
  expect([await readStatus(old), await readStatus(open), await readStatus(young)]).toEqual([404, 200, 200]);
  expect(await countRows(old)).toEqual(none);
  const archived = await service.ask('GET', `/demo/jobs/${old}/job.json`);
  expect(archived.json).toMatchObject({ id: old, state: 'done' });
  expect(await service.lines(`/demo/jobs/${old}/out.txt`)).toHaveLength(1);
  expect(await service.lines(`/demo/jobs/${old}/fail.txt`)).toEqual(['/demo/stor/missing']);
  const listed = (await service.ask('GET', '/demo/jobs')).text;
  expect([listed.includes(old), listed.includes(young)]).toEqual([true, true]);
});

test('what is interrupted shows no part of a job for the whole, and is gone on with', async () => {
  await forgetOldJobs(service.store, clock.now(), 10_000);
  const old = await runJob();
  const before = clock.now() + 1000;
  await forgetOldJobs(service.store, before, 1);
  const left = await countRows(old);
  expect([await readStatus(old), left['jobs'], left['job_phases']]).toEqual([404, 1, 2]);
  while ((await forgetOldJobs(service.store, before, 1)) > 0);
  expect(await countRows(old)).toEqual(none);
});
