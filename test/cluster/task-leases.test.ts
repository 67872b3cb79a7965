import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadJob, type ActiveJob, type ActivePhase, type Task } from '../../src/server/jobs/active-job.ts';
import { archiveJob } from '../../src/server/jobs/archive.ts';
import { claimTasks } from '../../src/server/jobs/claims.ts';
import { startJobEngine, type JobEngine } from '../../src/server/jobs/engine.ts';
import { createTaskLeases, mostLosses } from '../../src/server/jobs/leases.ts';
import { databaseTime } from '../../src/server/store/database-time.ts';
import type { TaskLeases } from '../../src/server/jobs/task-leases.ts';
import { recordResults } from '../../src/server/jobs/record.ts';
import type { Result } from '../../src/server/jobs/result.ts';
import { baseOf } from '../../src/server/jobs/results.ts';
import { placeOfAbsolute } from '../../src/server/storage/paths.ts';
import type { Store } from '../../src/server/store/store.ts';
import { createSharedPlace, type SharedPlace } from '../support/cluster-database.ts';
import { usualIsolation } from '../support/job-sandboxes.ts';
import { createTestService, type TestService } from '../support/service.ts';

/** Tasks of one job in the hands of several engines, each with connections of its own: who may record what. */

let service: TestService;
let other: Store;
let place: SharedPlace;
const noEngine = { wake: () => undefined, problemOf: () => undefined, close: () => Promise.resolve() };

beforeAll(async () => {
  place = await createSharedPlace();
  const isolation = { kind: 'none' } as never;
  service = await createTestService({ open: place.open, startJobs: () => ({ ...noEngine, detected: Promise.resolve({ isolation }) }) });
  other = await place.open();
  await service.storage('PUT', '/demo/stor/a', { body: Buffer.from('a\n') });
});
afterAll(async () => {
  await other.close();
  await service.close();
  await place.remove();
});

async function createJob(inputs: number, phases: unknown = [{ exec: 'cat' }], end = true): Promise<string> {
  const { headers } = await service.storage('POST', '/demo/jobs', { json: { phases } });
  const id = headers['location']?.split('/').at(-1) ?? '';
  const body = Buffer.from('/demo/stor/a\n'.repeat(inputs));
  const added = await service.storage('POST', `/demo/jobs/${id}/live/in${end ? '?end=true' : ''}`, { body });
  expect(added.status).toBe(204);
  return id;
}

/** A job as one engine knows it. */
interface Engine {
  readonly store: Store;
  readonly leases: TaskLeases;
  readonly job: ActiveJob;
  readonly phase: ActivePhase;
}

async function enter(store: Store, owner: string, id: string, accountTasks?: number): Promise<Engine> {
  const job = await loadJob(store.db, id, Date.now);
  const phase = job?.phases[0];
  if (!job || !phase) throw new Error('no job');
  return { store, leases: createTaskLeases(store, owner, accountTasks), job, phase };
}

const claim = async ({ store, leases, job, phase }: Engine, limit: number): Promise<readonly Task[]> =>
  (await claimTasks(store, leases, job, phase, limit)).tasks;

/** What a task that wrote a text comes to. */
async function finish({ store, job }: Engine, task: Task, text: string): Promise<Result> {
  const place = placeOfAbsolute(`${baseOf(job, 0, task.origin)}${text}-${task.number}`);
  if (!place) throw new Error('no place');
  const { id, size, md5 } = await store.bytes.write(Buffer.from(text.repeat(4000)));
  const objects = [{ place, content: id, size, md5 }];
  return { kind: 'output', task, zone: 'z', output: { outputs: [{ path: place.path, given: 0 }], objects, named: [] } };
}

const record = async ({ store }: Engine, results: readonly Result[]): Promise<ActiveJob[]> =>
  (await recordResults(store, results, { now: Date.now(), server: 's', settings: {} })).over;

async function readJob(id: string): Promise<{ state: string; outputs: number; errors: number }> {
  return service.store.db.selectFrom('jobs').select(['state', 'outputs', 'errors']).where('id', '=', id).executeTakeFirstOrThrow();
}

const readOutputs = async (id: string): Promise<string[]> =>
  (await service.storage('GET', `/demo/jobs/${id}/live/out`)).text.split('\n').slice(0, -1);

async function countBytes(store: Store): Promise<number> {
  let count = 0;
  for await (const _ of store.bytes.list()) count += 1;
  return count;
}

/** As after the end of its owner, a lease ago. */
async function endLeases(id: string): Promise<void> {
  await sql`update job_tasks set lease = ${databaseTime} - 1 where job = ${id} and state = 'running'`.execute(other.db);
}

/** As if the pause after a loss were over. */
async function endPauses(id: string): Promise<void> {
  await sql`update job_tasks set lease = 0 where job = ${id} and state = 'waiting'`.execute(other.db);
}

describe('claims', () => {
  test('of many at once: each task goes to one engine', async () => {
    const id = await createJob(60);
    const engines = await Promise.all(Array.from({ length: 6 }, (_, at) => enter(at % 2 === 0 ? service.store : other, `e${at}`, id)));
    const taken: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      for (const tasks of await Promise.all(engines.map((engine) => claim(engine, 5)))) taken.push(...tasks.map(({ number }) => number));
    }
    expect(taken.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, at) => at));
  });

  test('what is given back is there for others, and counts as not lost', async () => {
    const id = await createJob(4);
    const [first, second] = [await enter(service.store, 'a', id), await enter(other, 'b', id)];
    const held = await claim(first, 10);
    expect([held.length, (await claim(second, 10)).length]).toEqual([4, 0]);
    await first.leases.giveBack(first.leases.list(id));
    expect((await claim(second, 10)).map(({ attempt, lost }) => [attempt, lost])).toEqual(Array.from({ length: 4 }, () => [2, 0]));
  });

  test('of many at once take no more of an account than its limit, over all of its jobs', async () => {
    await sql`delete from job_tasks`.execute(other.db);
    const ids = await Promise.all([createJob(20), createJob(20)]);
    const engines = await Promise.all(
      Array.from({ length: 6 }, (_, at) => enter(at % 2 === 0 ? service.store : other, `e${at}`, ids[at % 3 === 0 ? 0 : 1] ?? '', 7)),
    );
    const claimed = await Promise.all(engines.map((engine) => claim(engine, 5)));
    expect(claimed.flat()).toHaveLength(7);
    for (const engine of engines) expect(await claim(engine, 5)).toEqual([]);
    const [holder, tasks = []] = [engines[claimed.findIndex(({ length }) => length > 0)], claimed.find(({ length }) => length > 0)];
    await holder?.leases.giveBack(tasks.slice(0, 1));
    const again = await Promise.all(engines.map((engine) => claim(engine, 5)));
    expect(again.flat()).toHaveLength(1);
  });

  test('a lease that is renewed is not taken away, one that is not is', async () => {
    const id = await createJob(2);
    const [first, second] = [await enter(service.store, 'a', id), await enter(other, 'b', id)];
    await claim(first, 1);
    await claim(second, 1);
    await endLeases(id);
    expect(await first.leases.renew()).toEqual([]);
    await second.leases.collectLost();
    expect(await first.leases.renew()).toEqual([]);
    expect((await second.leases.renew()).map(({ number }) => number)).toEqual([1]);
    expect(second.leases.list()).toEqual([]);
  });
});

describe('outcomes', () => {
  test('of an engine that was cut off are refused, its bytes removed, and nothing of them counts', async () => {
    const id = await createJob(3);
    const [frozen, next] = [await enter(service.store, 'frozen', id), await enter(other, 'next', id)];
    const before = await countBytes(other);
    const late = await Promise.all((await claim(frozen, 3)).map((task) => finish(frozen, task, 'late')));
    await endLeases(id);
    await next.leases.collectLost();
    // One waits, one is done by another by now, one runs there.
    expect(await record(frozen, late.slice(0, 1))).toEqual([]);
    await endPauses(id);
    const again = await claim(next, 1);
    expect(again.map(({ attempt, lost }) => [attempt, lost])).toEqual([[2, 1]]);
    expect(await record(frozen, late)).toEqual([]);
    for (const task of again) await record(next, [await finish(next, task, 'next')]);
    next.leases.forget(again);
    expect(await record(frozen, late)).toEqual([]);
    expect(await readJob(id)).toEqual({ state: 'running', outputs: 1, errors: 0 });
    expect(await readOutputs(id)).toEqual([expect.stringContaining('next-0')]);
    // Of the late ones none is left.
    expect(await countBytes(other)).toBe(before + 1);
  });

  test('of an engine that was frozen for an hour are refused, although nobody has taken its tasks', async () => {
    const id = await createJob(1);
    const engine = await enter(service.store, 'a', id);
    const results = await Promise.all((await claim(engine, 1)).map((task) => finish(engine, task, 'old')));
    await sql`update job_tasks set lease = ${databaseTime} - 3600000 where job = ${id}`.execute(other.db);
    expect((await engine.leases.renew()).length).toBe(1);
    await record(engine, results);
    expect(await readJob(id)).toEqual({ state: 'running', outputs: 0, errors: 0 });
  });

  test('whose record was committed without an answer count once, and keep their bytes', async () => {
    const id = await createJob(2);
    const engine = await enter(service.store, 'a', id);
    const results = await Promise.all((await claim(engine, 2)).map((task) => finish(engine, task, 'once')));
    expect((await record(engine, results)).length).toBe(1);
    await record(engine, results);
    expect(await readJob(id)).toEqual({ state: 'running', outputs: 2, errors: 0 });
    for (const output of await readOutputs(id)) expect((await service.storage('GET', output)).text).toHaveLength(16_000);
  });

  test('of two engines at once are all there, and one of them ends the phase', async () => {
    const id = await createJob(40, [{ exec: 'cat' }, { type: 'reduce', exec: 'cat', count: 3 }]);
    const engines = [await enter(service.store, 'a', id), await enter(other, 'b', id)];
    await Promise.all(
      engines.map(async (engine) => {
        for (let tasks = await claim(engine, 5); tasks.length > 0; tasks = await claim(engine, 5))
          await record(engine, await Promise.all(tasks.map((task) => finish(engine, task, 'x'))));
      }),
    );
    const phases = await other.db.selectFrom('job_phases').selectAll().where('job', '=', id).orderBy('phase').execute();
    expect(phases.map(({ inputs, tasks, finished, closed }) => [inputs, tasks, finished, closed])).toEqual([
      [40, 40, 40, 1],
      [40, 3, 0, 1],
    ]);
    const given = await other.db.selectFrom('job_reduce_inputs').select(['number', 'input']).where('job', '=', id).execute();
    expect([new Set(given.map(({ number }) => number)).size, new Set(given.map(({ input }) => input)).size]).toEqual([40, 40]);
  });
});

describe('the end', () => {
  test('is written once by any number of engines, also after a crash in the middle', async () => {
    const id = await createJob(1);
    const engines = await Promise.all([service.store, other, service.store].map((store, at) => enter(store, `e${at}`, id)));
    const [first] = engines;
    if (!first) throw new Error('no engine');
    for (const task of await claim(first, 1)) await record(first, [await finish(first, task, 'end')]);
    const ended = await Promise.all(engines.map(({ store, job }) => archiveJob(store, job, Date.now())));
    expect(ended.some(({ isDone }) => isDone)).toBe(true);
    expect(await archiveJob(other, first.job, Date.now())).toEqual({ isDone: true, missing: [] });
    expect(await readJob(id)).toMatchObject({ state: 'done' });
    expect((await service.storage('GET', `/demo/jobs/${id}/out.txt`)).text).toContain('end-0');
  });

  test('waits while a task of a cancelled job is in live hands', async () => {
    const id = await createJob(1, undefined, false);
    const [holder, canceller] = [await enter(service.store, 'a', id), await enter(other, 'b', id)];
    await claim(holder, 1);
    expect((await service.storage('POST', `/demo/jobs/${id}/live/cancel`)).status).toBe(202);
    expect(await archiveJob(other, canceller.job, Date.now())).toEqual({ isDone: false, missing: [] });
    await endLeases(id);
    expect((await archiveJob(other, canceller.job, Date.now())).isDone).toBe(true);
  });
});

describe('whole engines', () => {
  const engines: JobEngine[] = [];
  const start = (store: Store, name: string): JobEngine => {
    const given = {
      store,
      dataDir: join(place.dir, name),
      owner: name,
      url: () => '',
      server: name,
      isolation: usualIsolation(),
      slots: 1,
    };
    const engine = startJobEngine({ ...given, now: Date.now, log: () => undefined });
    engines.push(engine);
    return engine;
  };
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
  });
  const isDone = async (id: string): Promise<string> => (await readJob(id)).state;

  test('share a job, do each input once, and fail alone what its workers died of', { timeout: 240_000 }, async () => {
    const id = await createJob(30, [{ exec: 'sleep 0.1; echo $CLOUD_INPUT_OBJECT' }, { type: 'reduce', exec: 'cat', count: 2 }]);
    await sql`update job_tasks set lost = ${mostLosses} where job = ${id} and number = 7`.execute(other.db);
    const [first, second] = [start(service.store, 'one'), start(other, 'two')];
    expect('isolation' in (await first.detected) && 'isolation' in (await second.detected)).toBe(true);
    await expect.poll(() => isDone(id), { timeout: 180_000 }).toBe('done');
    expect(await readJob(id)).toEqual({ state: 'done', outputs: 2, errors: 1 });
    const owners = await other.db.selectFrom('job_tasks').select('owner').distinct().where('job', '=', id).where('phase', '=', 0).execute();
    expect(new Set(owners.map(({ owner }) => owner))).toEqual(new Set(['one', 'two']));
    const texts = await Promise.all((await readOutputs(id)).map(async (path) => (await service.storage('GET', path)).text));
    expect(texts.join('').split('\n').filter(Boolean)).toHaveLength(29);
    const error = (await service.storage('GET', `/demo/jobs/${id}/live/err`)).text;
    expect(JSON.parse(error)).toMatchObject({
      code: 'InternalError',
      message: `the workers that ran the task died ${mostLosses} times while running it`,
    });
  });

  test('a cancel that one of them is told of ends the task of the other', { timeout: 240_000 }, async () => {
    const id = await createJob(2, [{ exec: 'sleep 1000' }]);
    const isRunning = async (): Promise<number> =>
      (await other.db.selectFrom('job_tasks').select('number').where('job', '=', id).where('state', '=', 'running').execute()).length;
    await expect.poll(isRunning, { timeout: 120_000 }).toBe(2);
    expect((await service.storage('POST', `/demo/jobs/${id}/live/cancel`)).status).toBe(202);
    await expect.poll(() => isDone(id), { timeout: 120_000 }).toBe('done');
    const left = await other.db.selectFrom('job_tasks').select('state').distinct().where('job', '=', id).execute();
    expect(left).toEqual([{ state: 'failed' }]);
  });
});
