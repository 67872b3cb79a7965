import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import type { Store } from '../../src/server/store/store.ts';
import { createClusterJobs, type ClusterJobs } from '../support/cluster-jobs.ts';
import { openGatewayHome, type GatewayHome, type GatewayProcess } from '../support/gateway-process.ts';
import { readMetrics, series } from '../support/prometheus.ts';
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts';

/** Workers beside gateways that do no tasks, as processes of the program. */

let home: GatewayHome;
let jobs: ClusterJobs;
let store: Store;
const gateways: GatewayProcess[] = [];
const workers: WorkerProcess[] = [];
const wait = { timeout: 60_000 };

async function startWorker(slots = 2, ...words: string[]): Promise<WorkerProcess> {
  const worker = await startWorkerProcess(home, '--slots', String(slots), ...words);
  workers.push(worker);
  return worker;
}

async function end(worker: WorkerProcess, signal: NodeJS.Signals): Promise<number | string | null> {
  workers.splice(workers.indexOf(worker), 1);
  worker.child.kill(signal);
  return worker.ended;
}

async function endAll(): Promise<void> {
  for (const worker of workers.slice()) expect(await end(worker, 'SIGTERM')).toBe(0);
}

beforeAll(async () => {
  home = await openGatewayHome();
  gateways.push(...(await Promise.all([home.start('--http', '--no-jobs'), home.start('--http', '--no-jobs')])));
  jobs = createClusterJobs(home, () => gateways);
  store = await openClusterStore({ database: home.url, bytes: `${home.sandbox.home}/bytes` });
});
afterAll(async () => {
  for (const { child } of workers) child.kill('SIGKILL');
  await store.close();
  await home.remove();
});

const name = (at: number): string => `n${String(at).padStart(3, '0')}`;
const readState = async (id: string): Promise<string> => (await jobs.state(id)).state;
/** Tasks that a worker has begun: their zones have a place for their output. */
function countBegun({ told }: WorkerProcess): number {
  const files = readdirSync(join(home.sandbox.home, 'bytes', 'jobs'), { recursive: true, encoding: 'utf8' });
  return files.filter((file) => new RegExp(`-${told.pid}/zones/[^/]+/io/out/[0-9]+$`, 'u').test(file)).length;
}

/** Who runs tasks of a job now. */
const readOwners = async (id: string): Promise<(string | null)[]> =>
  (await store.db.selectFrom('job_tasks').select('owner').where('job', '=', id).where('state', '=', 'running').execute()).map(
    ({ owner }) => owner,
  );

test('a job waits while there are gateways alone, and a worker does it', async () => {
  const inputs = await jobs.putAll([0, 1, 2, 3].map(name));
  const id = await jobs.create([{ exec: 'cat' }, { type: 'reduce', exec: 'sort' }]);
  await jobs.feed(id, inputs, 2);
  // Both gateways have answered since: neither has begun a task.
  expect((await jobs.state(id)).stats).toMatchObject({ tasks: 4, tasksDone: 0 });
  await startWorker();
  await expect.poll(() => readState(id), wait).toBe('done');
  expect((await jobs.readOutputs(id)).text).toBe([0, 1, 2, 3].map((at) => `${name(at)}\n`).join(''));
});

test('inputs and outputs go between a worker and the store: every gateway stands still meanwhile', async () => {
  await endAll();
  const put = async (name: string, size: number): Promise<string> => {
    expect((await jobs.ask('PUT', `/alice/stor/${name}`, name.at(-1)?.repeat(size))).status).toBe(204);
    return `/alice/stor/${name}`;
  };
  const sizes = { inline: 400, row: 16_000, file: 200_000 };
  const inputs = [await put('carried-a', sizes.inline), await put('carried-b', sizes.row), await put('carried-c', sizes.file)];
  const id = await jobs.create([{ exec: 'cat' }]);
  await jobs.feed(id, inputs, inputs.length);
  for (const { child } of gateways) child.kill('SIGSTOP');
  try {
    await startWorker();
    const read = (): Promise<{ state: string } | undefined> =>
      store.db.selectFrom('jobs').select('state').where('id', '=', id).executeTakeFirst();
    await expect.poll(read, wait).toEqual({ state: 'done' });
    const made = await store.db
      .selectFrom('entries')
      .select(['size', 'content'])
      .where('parent', 'like', `/alice/jobs/${id}/stor/%`)
      .where('type', '=', 'object')
      .orderBy('size')
      .execute();
    // What is small stands in the database, what is larger is where all contents are.
    expect(made.map(({ size, content }) => [size, /^(?:inline|row)(?=\/)/u.exec(content ?? '')?.[0] ?? 'file'])).toEqual(
      Object.entries(sizes).map(([kind, size]) => [size, kind]),
    );
  } finally {
    for (const { child } of gateways) child.kill('SIGCONT');
  }
  const { text } = await jobs.readOutputs(id);
  expect(text.split('').toSorted().join('')).toBe(`${'a'.repeat(sizes.inline)}${'b'.repeat(sizes.row)}${'c'.repeat(sizes.file)}`);
});

describe('one worker', () => {
  test('SIGTERM: the task under way is finished, the others are given back and done by another', async () => {
    await endAll();
    const first = await startWorker(1, '--admin-port', '0');
    const ask = async (path: string): Promise<[number, string]> => {
      const response = await fetch(`${first.told.adminUrl ?? ''}${path}`);
      return [response.status, await response.text()];
    };
    const read = async (name: string, labels = {}): Promise<number | undefined> =>
      [...readMetrics((await ask('/--metrics'))[1]).values()].find((each) => each.name === name)?.samples.get(series(name, labels));
    expect([await ask('/--live'), await ask('/--ready')]).toEqual([
      [200, 'live\n'],
      [200, 'ready\n'],
    ]);
    expect([await read('cloud_task_slots', { state: 'idle' }), await read('cloud_ready')]).toEqual([1, 1]);
    const id = await jobs.create([{ exec: 'sleep 5; cat' }]);
    await jobs.feed(id, await jobs.putAll([0, 1].map(name)), 2);
    await expect.poll(() => countBegun(first), wait).toBe(1);
    await expect.poll(() => read('cloud_task_slots', { state: 'busy' }), wait).toBe(1);
    const ended = end(first, 'SIGTERM');
    await expect.poll(() => ask('/--ready'), { ...wait, interval: 5 }).toEqual([503, 'not ready: draining\n']);
    expect(await ask('/--live')).toEqual([200, 'live\n']);
    expect(await ended).toBe(0);
    const tasks = await store.db.selectFrom('job_tasks').select(['state', 'lost']).where('job', '=', id).execute();
    expect(new Set(tasks)).toEqual(
      new Set([
        { state: 'done', lost: 0 },
        { state: 'waiting', lost: 0 },
      ]),
    );
    const second = await startWorker(2, '--admin-port', '0');
    await expect.poll(async () => (await jobs.readOutputs(id)).text, wait).toBe(`${name(0)}\n${name(1)}\n`);
    await expect.poll(() => readState(id), wait).toBe('done');
    const metrics = await (await fetch(`${second.told.adminUrl ?? ''}/--metrics`)).text();
    const { samples } = readMetrics(metrics).get('cloud_task_outcomes_total') ?? {};
    expect([...(samples ?? [])]).toEqual([
      [series('cloud_task_outcomes_total', { outcome: 'output' }), 1],
      [series('cloud_task_outcomes_total', { outcome: 'failure' }), 0],
      [series('cloud_task_outcomes_total', { outcome: 'retry' }), 0],
    ]);
    expect(readMetrics(metrics).get('cloud_tasks_refused_total')?.samples.get(series('cloud_tasks_refused_total'))).toBe(0);
  });

  test('frozen past its lease: another does its task, and what it comes back with is refused', async () => {
    await endAll();
    const frozen = await startWorker();
    const id = await jobs.create([{ exec: 'sleep 2; cat' }]);
    const [input = ''] = await jobs.putAll(['frozen']);
    expect((await jobs.ask('POST', `/alice/jobs/${id}/live/in`, `${input}\n`)).status).toBe(204);
    await expect.poll(() => readOwners(id), wait).toEqual([frozen.told.worker]);
    await expect.poll(() => countBegun(frozen), wait).toBe(1);
    frozen.child.kill('SIGSTOP');
    const next = await startWorker();
    await expect.poll(async () => (await jobs.state(id)).stats.tasksDone, wait).toBe(1);
    const [task] = await store.db.selectFrom('job_tasks').select(['owner', 'attempt', 'lost']).where('job', '=', id).execute();
    expect(task).toEqual({ owner: next.told.worker, attempt: 2, lost: 1 });
    frozen.child.kill('SIGCONT');
    await expect.poll(() => frozen.lines().join('\n'), wait).toContain('rejected');
    const { paths, text } = await jobs.readOutputs(id);
    expect([paths.length, text, (await jobs.state(id)).stats]).toEqual([
      1,
      'frozen\n',
      { errors: 0, outputs: 1, retries: 0, tasks: 1, tasksDone: 1 },
    ]);
    // It goes on with what comes.
    await end(next, 'SIGTERM');
    expect((await jobs.ask('POST', `/alice/jobs/${id}/live/in?end=true`, `${input}\n`)).status).toBe(204);
    await expect.poll(() => readState(id), wait).toBe('done');
    expect((await jobs.readOutputs(id)).text).toBe('frozen\nfrozen\n');
  });

  test('a cancel through a gateway ends its tasks', async () => {
    const [worker = await startWorker()] = workers;
    const id = await jobs.create([{ exec: 'sleep 1000' }]);
    await jobs.feed(id, await jobs.putAll([0, 1].map(name)), 2);
    await expect.poll(() => readOwners(id), wait).toEqual([worker.told.worker, worker.told.worker]);
    await expect.poll(() => countBegun(worker), wait).toBe(2);
    expect((await jobs.ask('POST', `/alice/jobs/${id}/live/cancel`)).status).toBe(202);
    await expect.poll(() => readState(id), wait).toBe('done');
    const errors = (await jobs.ask('GET', `/alice/jobs/${id}/live/err`)).text.trim().split('\n');
    expect(errors.map((line) => (JSON.parse(line) as { code: string }).code)).toEqual(['JobCancelledError', 'JobCancelledError']);
  });
});

test('words that are refused', async () => {
  const contradiction = await home.sandbox.here(['server', 'worker', ...home.places, '--isolation', 'none', '--require-isolation']);
  const admin = await home.sandbox.here(['server', 'worker', ...home.places, '--admin-host', '127.0.0.1']);
  expect([admin.code, admin.stderr]).toEqual([2, expect.stringContaining('--admin-port')]);
  expect([contradiction.code, contradiction.stderr]).toEqual([2, expect.stringContaining('--require-isolation')]);
});
