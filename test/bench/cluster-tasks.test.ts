import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrateDatabase } from '../support/cluster-database.ts';
import { createClusterJobs, type ClusterJobs } from '../support/cluster-jobs.ts';
import { median, report } from '../support/figures.ts';
import { openGatewayHome, type GatewayHome, type GatewayProcess } from '../support/gateway-process.ts';
import { runStatement, startPostgres, type TestPostgres } from '../support/postgres.ts';
import { readOwnTime, readProcessorTime } from '../support/processor-time.ts';
import { useLocal } from '../support/sandbox.ts';
import { isLong, scale } from '../support/scale.ts';
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts';

/**
 * Tasks of a job by processes of `cloud server worker` beside a gateway and PostgreSQL on this machine: how many more of them more workers do,
 * and what a task costs compared with the embedded service, which has its database in its own process.
 */

/** Tasks at once in each worker. */
const slots = 2;
const user = useLocal();
let server: TestPostgres;
let home: GatewayHome;
let gateway: GatewayProcess;
let jobs: ClusterJobs;
let postmaster = 0;

beforeAll(async () => {
  server = await startPostgres();
  // As operators have it: what is acknowledged survives a loss of power, as on SQLite.
  for (const setting of ['fsync', 'full_page_writes', 'autovacuum'])
    await runStatement(server.url('postgres'), `alter system set ${setting} = on`);
  await runStatement(server.url('postgres'), 'select pg_reload_conf()');
  home = await openGatewayHome({ url: await migrateDatabase(server, 'tasks'), drop: () => server.stop() });
  gateway = await home.start('--http', '--no-jobs');
  jobs = createClusterJobs(home, () => [gateway]);
  postmaster = Number(readFileSync(join(server.folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
}, 120_000);
afterAll(() => home.remove());

async function withWorkers<T>(count: number, work: (workers: readonly WorkerProcess[]) => Promise<T>): Promise<T> {
  const workers = await Promise.all(Array.from({ length: count }, () => startWorkerProcess(home, '--slots', String(slots))));
  try {
    return await work(workers);
  } finally {
    for (const { child } of workers) child.kill('SIGTERM');
    for (const { ended } of workers) expect(await ended).toBe(0);
  }
}

/** Does a job to its end. @returns seconds from its creation, by the service's clock */
async function runJob(exec: string, inputs: readonly string[]): Promise<number> {
  const id = await jobs.create([{ exec }]);
  await jobs.feed(id, inputs, 1000);
  const read = async (): Promise<string> => (await jobs.state(id)).state;
  await expect.poll(read, { timeout: 600_000, interval: 250 }).toBe('done');
  const { text } = await jobs.ask('GET', `/alice/jobs/${id}/live/status`);
  const status = JSON.parse(text) as { timeCreated: string; timeDone: string; stats: { outputs: number } };
  expect(status.stats.outputs).toBe(inputs.length);
  return (Date.parse(status.timeDone) - Date.parse(status.timeCreated)) / 1000;
}

test('more workers do as many more tasks that sleep', { timeout: 3_600_000 }, async () => {
  const [count, seconds] = [scale(24, 480), 0.5];
  const inputs = await jobs.putAll(Array.from({ length: count }, (_, at) => `sleep-${at}`));
  const rates: number[] = [];
  const workers = [1, 2, 4];
  for (const each of workers) {
    const taken = await withWorkers(each, () => runJob(`sleep ${seconds}; cat`, inputs));
    rates.push(count / taken);
  }
  for (const [at, rate] of rates.entries()) {
    const number = workers[at] ?? 1;
    const linear = (rates[0] ?? 0) * number;
    report('bench', {
      name: `tasks of ${seconds} s by ${number} worker${number === 1 ? '' : 's'} with ${slots} slots`,
      ours: `${rate.toFixed(2)}/s`,
      ...(number === 1 ? {} : { theirs: `${linear.toFixed(2)}/s (${number} times one)`, ratio: rate / linear, least: 0.9 }),
    });
  }
  expect(rates.every((rate) => rate > 0)).toBe(true);
});

interface Cost {
  /** Seconds from the creation of the job to its end. */
  readonly wall: number;
  /** Seconds of processor time of all services and tasks, and of the services alone. */
  readonly processor: number;
  readonly services: number;
}

/** Processor time from now on, until what is returned is called: of services with the tasks below them, and of a database. */
function beginCost(services: readonly number[], databases: readonly number[]): () => Omit<Cost, 'wall'> {
  const read = (): [number, number] => [
    readProcessorTime([...services, ...databases]),
    readOwnTime(services) + readProcessorTime(databases),
  ];
  const [all, alone] = read();
  return () => {
    const [allNow, aloneNow] = read();
    return { processor: allNow - all, services: aloneNow - alone };
  };
}

const text = `${'word '.repeat(204)}\n`;

async function measureCluster(inputs: readonly string[]): Promise<Cost> {
  return withWorkers(1, async ([worker]) => {
    const end = beginCost([gateway.told.pid, worker?.told.pid ?? 0], [postmaster]);
    const wall = await runJob('wc', inputs);
    return { wall, ...end() };
  });
}

async function measureEmbedded(): Promise<Cost> {
  const end = beginCost([user.local.pid], []);
  const { stdout } = await user.shell('cloud jobs run --map wc --detach -q -o name < inputs.txt');
  const id = stdout.trim();
  expect((await user.shell(`cloud jobs wait ${id} -q > waited`)).code).toBe(0);
  const used = end();
  const job = await user.json<{ timeCreated: string; timeDone: string; stats: { outputs: number } }>('jobs', 'get', id);
  return { wall: (Date.parse(job.timeDone) - Date.parse(job.timeCreated)) / 1000, ...used };
}

test('what a task costs beside PostgreSQL, and embedded', { timeout: 3_600_000 }, async () => {
  const [count, turns] = [scale(300, 5000), scale(1, 5)];
  const names = Array.from({ length: count }, (_, at) => String(at).padStart(6, '0'));
  for (const name of names) user.write(join('inputs', name), text);
  expect((await user.shell('cloud stor put -r inputs inputs -q && cloud stor find inputs --type object -o name > inputs.txt')).code).toBe(
    0,
  );
  const inputs = names.map((name) => `/alice/stor/wc-${name}`);
  const waiting = [...inputs];
  const put = async (): Promise<void> => {
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) expect((await jobs.ask('PUT', path, text)).status).toBe(204);
  };
  await Promise.all(Array.from({ length: 8 }, put));
  // In turn, so that what else the machine does is in both; the first turn only fills what is kept in memory.
  const costs: { ours: Cost; theirs: Cost }[] = [];
  for (let turn = 0; turn <= turns; turn += 1) costs.push({ theirs: await measureEmbedded(), ours: await measureCluster(inputs) });
  const measured = isLong ? costs.slice(1) : costs;
  for (const [kind, label] of [
    ['processor', 'processor time'],
    ['services', 'processor time of the services alone'],
    ['wall', 'time'],
  ] as const) {
    const middle = (of: 'ours' | 'theirs'): number => median(measured.map((cost) => cost[of][kind]));
    const each = (seconds: number): string => `${((seconds * 1000) / count).toFixed(2)} ms`;
    report('bench', {
      name: `a task of a job of ${count} inputs, gateway, worker and PostgreSQL on this machine: ${label}`,
      ours: each(middle('ours')),
      theirs: `${each(middle('theirs'))} (embedded)`,
      ratio: median(measured.map(({ ours, theirs }) => ours[kind] / theirs[kind])),
      most: 2,
    });
  }
  expect(measured.length).toBeGreaterThan(0);
});
