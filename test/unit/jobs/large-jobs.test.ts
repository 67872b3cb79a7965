import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ActiveJob } from '../../../src/server/jobs/active-job.ts';
import { archiveJob } from '../../../src/server/jobs/archive.ts';
import { createEnding } from '../../../src/server/jobs/ending.ts';
import { forgetOldJobs } from '../../../src/server/jobs/old-jobs.ts';
import { countFailedInputs, readFailures } from '../../../src/server/jobs/streams.ts';
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

/** A job of which every task has failed, with two errors for each input but the last. */
async function failJob(tasks: number): Promise<ActiveJob> {
  const running = { running: new Set(), stopping: new AbortController(), isEnding: false };
  const job = { id: 'job', account: { id: 'account', login: 'demo' }, phases: [{}], ...running } as unknown as ActiveJob;
  const errors = 2 * tasks - 1;
  await store.db
    .insertInto('jobs')
    .values(describeJob({ errors, outputs: tasks, input_done: 1 }))
    .execute();
  await store.db
    .insertInto('job_phases')
    .values({ job: job.id, phase: 0, reducers: 0, inputs: tasks, tasks, finished: tasks, closed: 1 })
    .execute();
  const numbers = sql`with recursive numbers(number) as (select 0 union all select number + 1 from numbers where number < ${errors - 1})`;
  await sql`
    insert into job_tasks (job, phase, number, state, input, origin, tries)
    ${numbers} select 'job', 0, number, 'failed', '/demo/stor/' || number, '', 0 from numbers where number < ${tasks}`.execute(store.db);
  await sql`
    insert into job_outputs (job, number, output, given)
    ${numbers} select 'job', number, '/demo/stor/' || number, 0 from numbers where number < ${tasks}`.execute(store.db);
  await sql`
    insert into job_errors (job, number, record, input)
    ${numbers} select 'job', number, '{"phaseNum":0}', '/demo/stor/' || (number % ${tasks}) from numbers`.execute(store.db);
  return job;
}

/** The number of lines of each archive file of the job. */
async function countLines(): Promise<Record<string, number>> {
  const files = await store.db
    .selectFrom('entries')
    .selectAll()
    .where('parent', '=', '/demo/jobs/job')
    .where('type', '=', 'object')
    .execute();
  const counted = files.map(async ({ name, content, size }) => {
    const text = content === null ? '' : await buffer(await store.bytes.read(content, 0, size ?? 0));
    return [name, text.toString().split('\n').length - 1];
  });
  return Object.fromEntries(await Promise.all(counted)) as Record<string, number>;
}

test('a service that stops while it writes the end of a large job leaves nothing behind, and the next start continues', async () => {
  const job = await failJob(5000);
  const log: string[] = [];
  /** The ending of an engine that is closed when the file of this number has begun. */
  const endWith = async (file: number): Promise<boolean> => {
    const closing = new AbortController();
    let begun = 0;
    const writeCompressed: FileStore['bytes']['writeCompressed'] = async function closeAt(body) {
      async function* close(): AsyncGenerator<Uint8Array> {
        for await (const chunk of body instanceof Uint8Array ? [body] : body) {
          if (begun === file) closing.abort();
          yield chunk;
        }
      }
      begun += 1;
      return store.bytes.writeCompressed(close());
    };
    const options = {
      store: { ...store, bytes: { ...store.bytes, writeCompressed } },
      log: (line: string) => log.push(line),
      now: () => 7,
    };
    const jobs = new Map([[job.id, job]]);
    const given = { options, jobs, loads: { endAll: async () => undefined }, leases: { list: () => [] }, closing: closing.signal };
    await createEnding({ ...given, onGivenBack: () => undefined } as unknown as Parameters<typeof createEnding>[0]).end({ ...job });
    return !jobs.has(job.id);
  };
  for (const file of [1, 2, 3, 4, 5]) expect(await endWith(file)).toBe(false);
  const left: string[] = [];
  for await (const id of store.bytes.list()) left.push(id);
  expect([left, log, job.problem]).toEqual([[], [], undefined]);
  expect(await endWith(6)).toBe(true);
  expect(await countLines()).toEqual({ 'job.json': 1, 'in.txt': 5000, 'out.txt': 5000, 'fail.txt': 5000, 'err.txt': 9999 });
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

test('very many failed inputs are counted in turns of the event loop', async () => {
  const job = { id: 'job', errors: 150_000 };
  await sql`
    insert into job_errors (job, number, record, input)
    with recursive numbers(number) as (select 0 union all select number + 1 from numbers where number < ${job.errors - 1})
    select 'job', number, '', '/demo/stor/' || (number % 100000) from numbers`.execute(store.db);
  let turns = 0;
  const others = setInterval(() => (turns += 1), 1);
  expect(await countFailedInputs(store, job)).toBe(100_000);
  clearInterval(others);
  expect(turns).toBeGreaterThan(10);
});

test('failed inputs that are divided into parts are given once each; those of later errors are not given', async () => {
  const inputs = Array.from({ length: 40 }, (_, number) => (number === 7 ? null : `/demo/stor/${number % 20}`));
  await store.db
    .insertInto('job_errors')
    .values([...inputs.entries()].map(([number, input]) => ({ job: 'job', number, record: '', input, cause: 0 })))
    .execute();
  const read = async (errors: number): Promise<string[]> => {
    const given: string[] = [];
    for await (const input of readFailures(store, { id: 'job', errors })) given.push(input);
    return given;
  };
  const distinct = [...new Set(inputs.filter((input) => input !== null))];
  expect(await read(5)).toEqual(inputs.slice(0, 5));
  expect(await read(40)).toEqual(distinct);
  expect((await read(2_000_000)).toSorted()).toEqual(distinct.toSorted());
  expect(await countFailedInputs(store, { id: 'job', errors: 2_000_000 })).toBe(20);
});
