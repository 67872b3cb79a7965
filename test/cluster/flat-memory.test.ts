import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { beginClientWork, openClients, type Clients } from '../support/client-work.ts';
import { report } from '../support/figures.ts';
import { lacksHaproxy } from '../support/haproxy.ts';
import { openMovingCluster, type MovingCluster } from '../support/moving-cluster.ts';
import { createRandom } from '../support/random.ts';
import { isLong, scale, seed } from '../support/scale.ts';
import { readLoad } from '../support/service-load.ts';
import { finishSmallJob, startSmallJob } from '../support/small-job.ts';

/**
 * Memory of a gateway and a worker: while clients do work of all kinds for ten minutes, and while a job has a million inputs of which
 * 20,000 run. In the short form only that it goes on and stays below a limit, since memory says nothing in seconds.
 */

const mebibyte = 1024 * 1024;
/** Most memory of a process in the short form, bytes. */
const most = 600 * mebibyte;
/** Of the last third of the time to the first, in the long form. */
const mostGrowth = 1.1;
const warmingUp = scale(1000, 120_000);
const measured = scale(4000, 600_000);
const inputCount = scale(5000, 1_000_000);
const runCount = scale(100, 20_000);
const random = createRandom(seed);
let cluster: MovingCluster;
let clients: Clients;
let pids: Readonly<Record<'gateway' | 'worker', number>>;

/** Memory of each process, sampled. */
type Samples = Record<keyof typeof pids, number[]>;

async function sample(samples: Samples, interval: number, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    for (const [name, pid] of Object.entries(pids) as [keyof Samples, number][]) samples[name].push(readLoad(pid).memory);
    await sleep(interval);
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length / mebibyte;
}

/** Shows what was sampled, and in the long form expects that it stayed as it was. */
function judge(what: string, samples: Samples): void {
  for (const [name, values] of Object.entries(samples)) {
    const third = Math.floor(values.length / 3);
    const [first, last] = [mean(values.slice(0, third)), mean(values.slice(-third))];
    report('proof', {
      name: `memory of a ${name}: ${what}; last third of the time, and the first`,
      ours: `${last.toFixed(0)} MiB`,
      theirs: `${first.toFixed(0)} MiB`,
      ratio: last / first,
      most: mostGrowth,
    });
    if (!isLong) expect(Math.max(...values), name).toBeLessThan(most);
  }
}

describe.skipIf(lacksHaproxy())('flat', () => {
  beforeAll(async () => {
    cluster = await openMovingCluster(1, ['--no-jobs', '--drain-wait', '0s', '--keep-garbage', '1s']);
    const gateway = await cluster.startGateway(0);
    const worker = await cluster.startWorker();
    pids = { gateway: gateway.child.pid ?? 0, worker: worker.child.pid ?? 0 };
    clients = await openClients(cluster.client, 16);
  }, 120_000);
  afterAll(async () => {
    clients?.close();
    await cluster?.close();
  }, 600_000);

  test(`${measured / 1000} s of mixed work, seed ${seed}`, { timeout: warmingUp + measured + 240_000 }, async () => {
    const work = await beginClientWork(clients, 'mixed', 6, random);
    const over = new AbortController();
    let jobs = 0;
    const running = (async (): Promise<void> => {
      for (; !over.signal.aborted; jobs += 1) {
        const job = await startSmallJob(clients.storage, `mixed${jobs}`, 10);
        await finishSmallJob(clients.storage, job, { timeout: 120_000, interval: 100 });
      }
    })();
    await sleep(warmingUp);
    const samples: Samples = { gateway: [], worker: [] };
    const sampling = sample(samples, measured / 300, over.signal);
    await sleep(measured);
    over.abort();
    await Promise.all([running, sampling]);
    expect(await work.check()).toEqual([]);
    expect([work.steps() > 0, jobs > 0]).toEqual([true, true]);
    judge(`${measured / 1000} s of mixed work`, samples);
  });

  test(`a job with ${inputCount} inputs, of which ${runCount} run`, { timeout: scale(240_000, 3_600_000) }, async () => {
    const { storage } = clients;
    const account = 'demo';
    await storage.putObject({ account, path: 'stor/input', body: Buffer.from('one\n') });
    const { location = '' } = await storage.createJob({ account, phases: [{ exec: 'cat' }] });
    const id = location.split('/').at(-1) ?? '';
    const countDone = async (): Promise<number> => Number((await storage.getJob({ account, id })).stats?.['tasksDone'] ?? 0);
    const samples: Samples = { gateway: [], worker: [] };
    const over = new AbortController();
    const add = async (count: number): Promise<void> => {
      await storage.addJobInputs({ account, id, body: Buffer.from('/demo/stor/input\n'.repeat(count)) });
    };
    const batch = scale(1000, 10_000);
    await add(batch);
    await expect.poll(countDone, { timeout: 300_000, interval: 100 }).toBeGreaterThan(runCount / 10);
    const sampling = sample(samples, scale(20, 500), over.signal);
    for (let added = batch; added < inputCount; added += batch) await add(batch);
    await expect.poll(countDone, { timeout: 3_000_000, interval: scale(100, 2000) }).toBeGreaterThanOrEqual(runCount);
    over.abort();
    await sampling;
    await storage.cancelJob({ account, id });
    await expect.poll(async () => (await storage.getJob({ account, id })).state, { timeout: 300_000, interval: 200 }).toBe('done');
    judge(`a job with ${inputCount} inputs, of which ${runCount} ran`, samples);
  });
});
