import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { createWorker, readComputeState } from '../support/mixed-work.ts';
import { createRandom } from '../support/random.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';
import { openServices, type SignedServices } from '../support/signed.ts';

/**
 * Mixed work on both services for as long as it takes (CLOUD_SOAK_MINUTES: five in the short form, two hours in the long one) at the
 * full rate of the service. Its memory, its descriptors, its temporary files, the folders of its tasks and the time of its answers are
 * looked at all along: once it is warm, none of them grows.
 */

const minutes = Number(process.env['CLOUD_SOAK_MINUTES'] ?? scale(5, 120));
const workerCount = 24;
/** How often the service is looked at, so that each third of the time has a dozen samples or more; milliseconds. */
const interval = Math.min(10_000, (minutes * 60_000) / 36);
const mebibyte = 1024 * 1024;
const user = useLocal('--http');

/** What is looked at: of the service now, and of its answers since the last look. */
interface Sample {
  memory: number;
  descriptors: number;
  temporary: number;
  zones: number;
  rate: number;
  p50: number;
  p99: number;
}

/** Answers since the last look: their times in milliseconds. */
let times: number[] = [];

function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0;
}

function countEntries(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}

function takeSample(milliseconds: number): Sample {
  const { pid, dataDir } = user.local;
  const [, kibibytes = ''] = /VmRSS:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  const taken = times;
  times = [];
  return {
    memory: (Number(kibibytes) * 1024) / mebibyte,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    temporary: countEntries(join(dataDir, 'tmp')),
    zones: countEntries(join(dataDir, 'zones')),
    rate: taken.length / (milliseconds / 1000),
    p50: quantile(taken, 0.5),
    p99: quantile(taken, 0.99),
  };
}

/** The same services, whose answers are timed. */
function timeAnswers(services: SignedServices): SignedServices {
  return {
    ...services,
    send: async (...request) => {
      const started = performance.now();
      const answered = await services.send(...request);
      times.push(performance.now() - started);
      return answered;
    },
  };
}

/** Runs one small job after the other, each with a task that fails; counts those that ended as they should. */
async function runJob(services: SignedServices): Promise<void> {
  const json = { phases: [{ exec: 'test "$CLOUD_INPUT_OBJECT" != /demo/stor/inputs/bad && cat' }, { type: 'reduce', exec: 'wc -l' }] };
  const created = await services.send('storage', 'POST', '/demo/jobs', { json });
  const job = String(created.headers['location']).replace(/^https?:\/\/[^/]+/u, '');
  const body = Buffer.from('/demo/stor/inputs/a\n/demo/stor/inputs/bad\n/demo/stor/inputs/b\n');
  await services.send('storage', 'POST', `${job}/live/in`, { headers: { 'content-type': 'text/plain' }, body });
  await services.send('storage', 'POST', `${job}/live/in/end`);
  for (let state = ''; state !== 'done'; await sleep(50)) {
    const { bytes } = await services.send('storage', 'GET', `${job}/live/status`);
    ({ state } = JSON.parse(bytes.toString()) as { state: string });
  }
  const [output = ''] = (await services.send('storage', 'GET', `${job}/live/out`)).bytes.toString().split('\n');
  const { bytes } = await services.send('storage', 'GET', output);
  const errors = (await services.send('storage', 'GET', `${job}/live/err`)).bytes.toString().trim().split('\n');
  expect([bytes.toString().trim(), errors.length]).toEqual(['2', 1]);
}

/** The median of one member over some of the samples. */
function medianOf(samples: readonly Sample[], name: keyof Sample): number {
  return quantile(
    samples.map((sample) => sample[name]),
    0.5,
  );
}

/** How much each may be in the last third of the time beyond the second, as a factor and in its own unit. */
const growth: Record<Exclude<keyof Sample, 'rate'>, readonly [number, number]> = {
  memory: [1.1, 10],
  descriptors: [1, 10],
  temporary: [1, workerCount],
  zones: [1, 4],
  p50: [1.5, 2],
  p99: [2, 20],
};

test(`${minutes} minutes of mixed work, seed ${seed}`, { timeout: (minutes + 5) * 60_000, retry: 0 }, async () => {
  const plain = await openServices(user.local, workerCount + 4);
  const services = timeAnswers(plain);
  const names = Array.from({ length: workerCount }, (_, number) => `worker${number}`);
  const directory = { headers: { 'content-type': 'application/json; type=directory' } };
  for (const name of [...names, 'inputs']) await plain.send('storage', 'PUT', `/demo/stor/${name}`, directory);
  for (const name of ['a', 'bad', 'b']) await plain.send('storage', 'PUT', `/demo/stor/inputs/${name}`, { body: Buffer.from(`${name}\n`) });
  const workers = names.map((name, number) => createWorker(() => services, name, createRandom(seed + number)));
  const until = Date.now() + minutes * 60_000;
  let [steps, jobs] = [0, 0];
  const keep = async (work: () => Promise<void>, count: () => void): Promise<void> => {
    while (Date.now() < until) await work().then(count);
  };
  const samples: Sample[] = [];
  const look = async (): Promise<void> => {
    for (let last = performance.now(); Date.now() < until;) {
      await sleep(interval);
      const now = performance.now();
      samples.push(takeSample(now - last));
      last = now;
    }
  };
  await Promise.all([
    look(),
    keep(
      () => runJob(services),
      () => (jobs += 1),
    ),
    ...workers.map((worker) =>
      keep(
        () => worker.step(),
        () => (steps += 1),
      ),
    ),
  ]);
  const state = await readComputeState(plain);
  expect((await Promise.all(workers.map((worker) => worker.check(state)))).flat()).toEqual([]);
  await plain.close();
  const third = Math.floor(samples.length / 3);
  const [warm, last] = [samples.slice(third, 2 * third), samples.slice(-third)];
  const grown: string[] = [];
  for (const [name, [factor, more]] of Object.entries(growth) as [keyof typeof growth, readonly [number, number]][]) {
    const [before, after] = [medianOf(warm, name), medianOf(last, name)];
    const unit = { memory: ' MiB', p50: ' ms', p99: ' ms', descriptors: '', temporary: '', zones: '' }[name];
    report('proof', {
      name: `soak: ${name}, in the last third of the time; in the second`,
      ours: `${after.toFixed(1)}${unit}`,
      theirs: `${before.toFixed(1)}${unit}`,
      promise: `at most ${factor} times, and ${more}${unit}`,
    });
    if (after > before * factor + more) grown.push(`${name} grew from ${before} to ${after}`);
  }
  report('proof', {
    name: 'soak: mixed work',
    ours: `${minutes} minutes, ${steps} steps and ${jobs} jobs, ${Math.round(medianOf(last, 'rate'))} requests a second`,
    promise: 'all acknowledged is there',
  });
  expect(statSync(join(user.local.dataDir, 'service.log')).size).toBeLessThan(200 * mebibyte);
  expect(jobs).toBeGreaterThan(minutes * 5);
  expect(grown).toEqual([]);
});
