import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ActiveJob } from '../../../src/server/jobs/active-job.ts';
import { archiveJob } from '../../../src/server/jobs/archive.ts';
import type { FileStore } from '../../../src/server/store/open.ts';
import { openNewStore } from '../../support/new-store.ts';

let dir = '';
let store: FileStore;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-archive-'));
  store = await openNewStore(dir);
});
afterEach(async () => {
  await store.close();
  await rm(dir, { recursive: true });
});

/** A cancelled job with tasks that never began. */
async function cancelJob(tasks: number): Promise<ActiveJob> {
  const job = { id: 'job', account: { id: 'account', login: 'demo' }, phases: [{}] } as unknown as ActiveJob;
  const counts = { outputs: 0, errors: 0, retries: 0, created: 0, input_done: 0 };
  const row = { id: job.id, account: job.account.id, access: '{}', phases: '[]', state: 'running' as const, cancelled: 1, ...counts };
  const none = { creator: null, user: null, name: null, done: null };
  await store.db
    .insertInto('jobs')
    .values({ ...row, ...none })
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
