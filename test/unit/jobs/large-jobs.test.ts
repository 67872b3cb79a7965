import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ActiveJob } from '../../../src/server/jobs/active-job.ts';
import { archiveJob } from '../../../src/server/jobs/archive.ts';
import { forgetOldJobs } from '../../../src/server/jobs/old-jobs.ts';
import { countFailedInputs } from '../../../src/server/jobs/streams.ts';
import type { JobRow } from '../../../src/server/store/job-schema.ts';
import type { FileStore } from '../../../src/server/store/open.ts';
import { openNewStore } from '../../support/new-store.ts';

let dir = '';
let store: FileStore;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-large-jobs-'));
  store = await openNewStore(dir);
});
afterEach(async () => {
  await store.close();
  await rm(dir, { recursive: true });
});

/** The row of a job. */
function describeJob(more: Partial<JobRow>): JobRow {
  const counts = { outputs: 0, errors: 0, retries: 0, created: 0, input_done: 0, cancelled: 0 };
  const none = { creator: null, user: null, name: null, done: null };
  return { id: 'job', account: 'account', access: '{}', phases: '[]', state: 'running', ...counts, ...none, ...more };
}

/** A cancelled job with tasks that never began. */
async function cancelJob(tasks: number): Promise<ActiveJob> {
  const job = { id: 'job', account: { id: 'account', login: 'demo' }, phases: [{}] } as unknown as ActiveJob;
  await store.db
    .insertInto('jobs')
    .values(describeJob({ id: job.id, cancelled: 1 }))
    .execute();
  await store.db
    .insertInto('job_phases')
    .values({ job: job.id, phase: 0, reducers: 0, inputs: tasks, tasks, finished: 0, closed: 0 })
    .execute();
  await sql`
    insert into job_tasks (job, phase, number, state, input, origin, tries)
    with recursive numbers(number) as (select 0 union all select number + 1 from numbers where number < ${tasks - 1})
    select 'job', 0, number, 'waiting', '/demo/stor/a', '/demo/stor/a', 0 from numbers`.execute(store.db);
  return job;
}

test('a cancelled job with very many waiting tasks ends in small transactions', async () => {
  const job = await cancelJob(20_000);
  const left: number[] = [];
  const writeEntry: FileStore['writeEntry'] = async (work) => {
    const result = await store.writeEntry(work);
    const waiting = store.db.selectFrom('job_tasks').select('number').where('state', '=', 'waiting');
    left.push((await waiting.execute()).length);
    return result;
  };
  expect(await archiveJob({ ...store, writeEntry }, job, Date.now())).toEqual({ isDone: true, missing: [] });
  expect(left).toEqual([15_000, 10_000, 5_000, 0, 0]);
});

test('very many old jobs are forgotten in few transactions', async () => {
  const ids = Array.from({ length: 250 }, (_, number) => `old ${number}`);
  for (const id of ids)
    await store.db
      .insertInto('jobs')
      .values(describeJob({ id, state: 'done', done: 1 }))
      .execute();
  await store.db
    .insertInto('job_outputs')
    .values(ids.map((job) => ({ job, number: 0, output: '/demo/stor/a', given: 0 })))
    .execute();
  let transactions = 0;
  const write: FileStore['write'] = async (work) => {
    transactions += 1;
    return store.write(work);
  };
  expect(await forgetOldJobs({ db: store.db, write }, 2, 10_000)).toBe(500);
  expect(transactions).toBe(3 * 4);
});

test('the failed inputs of a job are counted again only when it has more errors', async () => {
  const error = { job: 'job', record: '', cause: 0 };
  const inputs = ['/demo/stor/a', '/demo/stor/b', '/demo/stor/a', null, '/demo/stor/c'];
  await store.db
    .insertInto('job_errors')
    .values(inputs.map((input, number) => ({ ...error, number, input })))
    .execute();
  expect(await countFailedInputs(store, { id: 'job', errors: 4 })).toBe(2);
  expect(await countFailedInputs(store, { id: 'job', errors: 5 })).toBe(3);
  await store.db.deleteFrom('job_errors').execute();
  expect(await countFailedInputs(store, { id: 'job', errors: 5 })).toBe(3);
});
