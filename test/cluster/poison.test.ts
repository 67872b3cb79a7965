import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { createTaskLeases, mostLosses } from '../../src/server/jobs/leases.ts';
import { databaseTime } from '../../src/server/store/database-time.ts';
import type { Store } from '../../src/server/store/store.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import { createClusterJobs, type ClusterJobs } from '../support/cluster-jobs.ts';
import { openGatewayHome, type GatewayHome, type GatewayProcess } from '../support/gateway-process.ts';
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts';

/** An input that ends whatever process does it. */

let home: GatewayHome;
let jobs: ClusterJobs;
let store: Store;
const gateways: GatewayProcess[] = [];
const workers: WorkerProcess[] = [];
const wait = { timeout: 60_000, interval: 50 };

beforeAll(async () => {
  home = await openGatewayHome();
  gateways.push(await home.start('--http', '--no-jobs'));
  jobs = createClusterJobs(home, () => gateways);
  store = await openClusterStore({ database: home.url, bytes: `${home.sandbox.home}/bytes` });
});
afterAll(async () => {
  for (const { child } of workers) child.kill('SIGKILL');
  await store.close();
  await home.remove();
});

/** Ends the worker above the task, when its input says so. A pattern that does not find the text of this very command. */
const exec = `read -r what
if [ "$what" = poison ]; then
  p=$$
  until tr '\\0' ' ' <"/proc/$p/cmdline" | grep -q 'server worke[r]'; do
    p=$(awk '/^PPid/ { print $2 }' "/proc/$p/status")
    [ "$p" -gt 1 ] || exit 7
  done
  kill -KILL "$p"
  sleep 3600
fi
echo "$what"`;

/** As when a lease, and the pause after a loss, have passed since. */
async function passTime(): Promise<void> {
  await sql`update job_tasks set lease = ${databaseTime} - 1 where state = 'running'`.execute(store.db);
  await createTaskLeases(store, 'the test').collectLost();
  await sql`update job_tasks set lease = 0 where state = 'waiting'`.execute(store.db);
}

test(`fails after ${mostLosses} workers, and every other input is done`, { timeout: 300_000 }, async () => {
  const names = ['a', 'b', 'poison', 'c', 'd', 'e', 'f'];
  const id = await jobs.create([{ exec }]);
  await jobs.feed(id, await jobs.putAll(names), names.length);
  let deaths = 0;
  const isDone = async (): Promise<boolean> => (await jobs.state(id)).state === 'done';
  while (!(await isDone()) && deaths <= mostLosses) {
    const worker = await startWorkerProcess(home, '--slots', '2', '--isolation', 'none');
    workers.push(worker);
    let ending: number | string | null | undefined;
    void worker.ended.then((code) => (ending = code));
    await expect.poll(async () => ending !== undefined || (await isDone()), wait).toBe(true);
    if (ending === undefined) break;
    expect(ending).toBe('SIGKILL');
    deaths += 1;
    await passTime();
  }
  expect(deaths).toBe(mostLosses);
  const errors = (await jobs.ask('GET', `/alice/jobs/${id}/live/err`)).text.trim().split('\n');
  expect(errors.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({
      code: 'InternalError',
      input: '/alice/stor/poison',
      message: `the workers that ran the task died ${mostLosses} times while running it`,
    }),
  ]);
  const { text } = await jobs.readOutputs(id);
  expect(text.split('\n').filter(Boolean).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  // The last of them lives, and goes on with what comes.
  const next = await jobs.create([{ exec: 'cat' }]);
  await jobs.feed(next, ['/alice/stor/a'], 1);
  await expect.poll(async () => (await jobs.state(next)).state, wait).toBe('done');
});
