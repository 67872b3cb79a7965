import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClusterJobs, type ClusterJobs } from '../support/cluster-jobs.ts';
import { migrateDatabase } from '../support/cluster-database.ts';
import { openGatewayHome, type GatewayHome, type GatewayProcess } from '../support/gateway-process.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { createRandom } from '../support/random.ts';
import { isLong, scale, seed } from '../support/scale.ts';
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts';

/** Jobs whose workers, and in the long form gateways and PostgreSQL too, are killed while they run: every input comes out once. */

const inputCount = scale(100, 3000);
const kills = { workers: scale(3, 30), gateways: scale(0, 5), database: scale(0, 2) };
const random = createRandom(seed);
let server: TestPostgres | undefined;
let home: GatewayHome;
let jobs: ClusterJobs;
const gateways: GatewayProcess[] = [];
const workers: WorkerProcess[] = [];

beforeAll(async () => {
  // A server of its own where it is to crash.
  server = isLong ? await startPostgres() : undefined;
  home = await openGatewayHome(server && { url: await migrateDatabase(server, 'killed'), drop: () => Promise.resolve() });
  jobs = createClusterJobs(home, () => gateways);
  gateways.push(...(await Promise.all([startGateway(), startGateway()])));
  workers.push(...(await Promise.all([startWorker(), startWorker(), startWorker()])));
}, 120_000);
afterAll(async () => {
  for (const { child } of workers) child.kill('SIGKILL');
  await home.remove();
  await server?.stop();
});

const startGateway = (): Promise<GatewayProcess> => home.start('--http', '--no-jobs');
const startWorker = (): Promise<WorkerProcess> => startWorkerProcess(home, '--slots', '2');

/** Kills one of several processes, and starts another for it. */
async function replace<P extends WorkerProcess | GatewayProcess>(list: P[], start: () => Promise<P>): Promise<void> {
  const [victim] = list.splice(Math.floor(random() * list.length), 1);
  victim?.child.kill('SIGKILL');
  await victim?.ended;
  list.push(await start());
}

async function crashDatabase(): Promise<void> {
  await server?.crash();
  await server?.start();
}

/** What is killed, in an order of chance. */
function planKills(): (() => Promise<void>)[] {
  const plan = [
    ...Array.from({ length: kills.workers }, () => () => replace(workers, startWorker)),
    ...Array.from({ length: kills.gateways }, () => () => replace(gateways, startGateway)),
    ...Array.from({ length: kills.database }, () => crashDatabase),
  ];
  return plan
    .map((kill) => ({ kill, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ kill }) => kill);
}

test(
  `${kills.workers} workers are killed in the middle of jobs: nothing twice, nothing lost, seed ${seed}`,
  { timeout: scale(180_000, 1_800_000) },
  async () => {
    const names = Array.from({ length: inputCount }, (_, at) => `n${String(at).padStart(5, '0')}`);
    const inputs = await jobs.putAll(names);
    const exec = 'sleep 0.05; cat';
    const kinds = [[{ exec }], [{ exec }, { type: 'reduce', exec: 'sleep 1; cat', count: 2 }], [{ exec: 'cat' }, { exec }]];
    const ids = await Promise.all(kinds.map((phases) => jobs.create(phases)));
    const feeding = Promise.all(ids.map((id) => jobs.feed(id, inputs, Math.ceil(inputCount / 10))));
    const all = inputCount * 4 + 2;
    const plan = planKills();
    const countDone = async (): Promise<number> => {
      const states = await Promise.all(ids.map((id) => jobs.state(id)));
      return states.reduce((sum, { stats }) => sum + stats.tasksDone, 0);
    };
    for (const [at, kill] of plan.entries()) {
      // While tasks run, and spread over the whole of them.
      await expect.poll(countDone, { timeout: 300_000, interval: 50 }).toBeGreaterThanOrEqual(Math.floor((all * 0.8 * at) / plan.length));
      await kill();
    }
    await feeding;
    for (const [at, id] of ids.entries()) {
      await expect.poll(async () => (await jobs.state(id)).state, { timeout: 600_000, interval: 200 }).toBe('done');
      // First, as they say why an output is missing.
      expect((await jobs.ask('GET', `/alice/jobs/${id}/live/err`)).text).toBe('');
      const { paths, text } = await jobs.readOutputs(id);
      expect(
        text
          .trimEnd()
          .split('\n')
          .toSorted((a, b) => (a < b ? -1 : 1)),
      ).toEqual(names);
      expect(new Set(paths).size).toBe(at === 1 ? 2 : inputCount);
      const tasks = [inputCount, inputCount + 2, inputCount * 2][at];
      expect((await jobs.state(id)).stats).toMatchObject({ errors: 0, outputs: paths.length, tasks, tasksDone: tasks });
    }
  },
);
