import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { beginClientWork, openClients, type Clients } from '../support/client-work.ts';
import { earlierProgram } from '../support/earlier.ts';
import { report } from '../support/figures.ts';
import type { RunningGateway } from '../support/gateways.ts';
import { lacksHaproxy } from '../support/haproxy.ts';
import { buildLater, type LaterBuild } from '../support/later-build.ts';
import { builtProgram, openMovingCluster, type MovingCluster } from '../support/moving-cluster.ts';
import { readMetrics } from '../support/prometheus.ts';
import { createRandom } from '../support/random.ts';
import { scale, seed } from '../support/scale.ts';
import { finishSmallJob, startSmallJob } from '../support/small-job.ts';
import type { WorkerProcess } from '../support/worker-process.ts';

/**
 * A release takes the place of the one before while clients work: gateways and workers of it are added, and those of the other removed. No
 * request is lost that a client tries again, and every task of a job is done once. The older release is this one, and
 * the newer one a build of it with a further step; with `CLOUD_EARLIER` the older one is that, and the newer one this.
 */

const timeoutMs = 90_000;
const limit = { timeout: 240_000 };
const patient = { timeout: timeoutMs, interval: 100 };
const random = createRandom(seed);
let later: LaterBuild | undefined;
let cluster: MovingCluster;
const opened: Clients[] = [];
const gateways = new Map<number, RunningGateway>();
let worker: WorkerProcess;

const [older, newer] = earlierProgram === undefined ? [builtProgram, () => later?.program ?? ''] : [earlierProgram, () => builtProgram];

async function open(): Promise<Clients> {
  const clients = await openClients(cluster.client, 16);
  opened.push(clients);
  return clients;
}

/** Requests that a gateway has answered. */
async function countAnswered({ told }: RunningGateway): Promise<number> {
  const { samples } = readMetrics(await (await fetch(`${told.adminUrl}/--metrics`)).text()).get('cloud_requests_total') ?? {};
  return [...(samples?.values() ?? [])].reduce((sum, count) => sum + count, 0);
}

/** Waits until a gateway gets requests of clients that come new. */
async function awaitUse(gateway: RunningGateway): Promise<void> {
  const ask = async (): Promise<number> => {
    const clients = await openClients(cluster.client, 1);
    await clients.compute.getAccount({ account: 'my' });
    clients.close();
    return countAnswered(gateway);
  };
  await expect.poll(ask, patient).toBeGreaterThan(0);
}

async function start(place: number, program: string): Promise<RunningGateway> {
  const gateway = await cluster.startGateway(place, program);
  gateways.set(place, gateway);
  return gateway;
}

/** Ends a gateway as an operator does; it leaves in order. */
async function stop(place: number): Promise<void> {
  expect(await gateways.get(place)?.end('SIGTERM')).toBe(0);
  gateways.delete(place);
}

async function replaceWorker(program: string): Promise<void> {
  const next = await cluster.startWorker(program);
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
  worker = next;
}

describe.skipIf(lacksHaproxy())('under load', () => {
  beforeAll(async () => {
    later = earlierProgram === undefined ? buildLater() : undefined;
    cluster = await openMovingCluster(3, ['--no-jobs', '--drain-wait', '3s'], older);
    await start(0, older);
    await start(1, older);
    worker = await cluster.startWorker(older);
  }, 180_000);
  afterAll(async () => {
    for (const clients of opened) clients.close();
    await cluster?.close();
    later?.remove();
  }, 120_000);

  test(`a rolling upgrade, seed ${seed}`, limit, async () => {
    const clients = await open();
    const work = await beginClientWork(clients, 'old', 4, random);
    const job = await startSmallJob(clients.storage, 'upgrade', scale(40, 1000));
    await work.proceed(3, timeoutMs);

    expect(await cluster.run(newer(), 'migrate')).toMatchObject({ code: 0 });
    if (later) {
      // As documented: what runs goes on, what starts is refused.
      const refused = 'the database was migrated by a newer release';
      await expect(cluster.startGateway(2, older)).rejects.toThrow(refused);
      await expect(cluster.startWorker(older)).rejects.toThrow(refused);
      expect(await cluster.run(older, 'migrate')).toEqual({ code: 1, stderr: expect.stringContaining(refused) });
    }
    await work.proceed(3, timeoutMs);

    // Clients that come now are served by the new one as well, those before by the old ones.
    await awaitUse(await start(2, newer()));
    const more = await beginClientWork(await open(), 'new', 4, random);
    await replaceWorker(newer());
    await Promise.all([work.proceed(scale(5, 100), timeoutMs), more.proceed(scale(5, 100), timeoutMs)]);
    await stop(0);
    await Promise.all([work.proceed(3, timeoutMs), more.proceed(3, timeoutMs)]);
    await start(0, newer());
    await stop(1);
    await Promise.all([work.proceed(3, timeoutMs), more.proceed(3, timeoutMs)]);
    await finishSmallJob(clients.storage, job, patient);
    const wrong = await Promise.all([work.check(), more.check()]);
    expect(wrong.flat()).toEqual([]);
    const retried = opened.reduce((sum, each) => sum + each.retried(), 0);
    report('proof', {
      name: 'cluster behind haproxy: a rolling upgrade; gateways and workers are added, others removed',
      ours: `${work.steps() + more.steps()} steps of clients, ${retried} requests tried again, none lost`,
      promise: 'no request is lost that a client tries again; each task is done once',
    });
    expect(await cluster.run(newer(), 'status')).toMatchObject({ code: 0 });
  });
});
