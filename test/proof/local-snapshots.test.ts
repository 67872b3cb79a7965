import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { createWorker, readComputeState } from '../support/mixed-work.ts';
import { createRandom } from '../support/random.ts';
import { useLocal, type LocalInfo } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';
import { openServices, type SignedServices } from '../support/signed.ts';
import { assertWholeStore, waitForRemovals } from '../support/whole-store.ts';

/**
 * Snapshots and forks of a service under full load: each has everything that was acknowledged before, at one moment, and every content.
 */

const rounds = scale(3, 20);
const idleCount = 4;
const busyCount = 8;
const chainCount = 8;
const user = useLocal('--http');
const forks: string[] = [];
const directory = { headers: { 'content-type': 'application/json; type=directory' } };

afterAll(async () => {
  for (const fork of forks) await user.cloud(['local', 'stop', '--data', fork]);
});

/**
 * Somebody who writes a growing number to one object and then to another, so that at each moment the first is ahead by 0 or 1. Contents
 * stand in files and in rows by turns, and each overwriting makes the bytes of the one before garbage.
 */
function createChain(services: SignedServices, name: string) {
  const [first, second] = [`/demo/stor/chains/${name}-a`, `/demo/stor/chains/${name}-b`];
  const content = (number: number): Buffer => Buffer.from(`${number} `.repeat(number % 2 === 0 ? 1000 : 6000));
  const put = async (path: string, number: number): Promise<void> => {
    const { status } = await services.send('storage', 'PUT', path, { body: content(number) });
    if (status !== 204) throw new Error(`${path} was answered ${status}`);
  };
  let [begun, done] = [0, 0];
  return {
    async step() {
      begun += 1;
      await put(first, begun);
      await put(second, begun);
      done = begun;
    },
    /** Numbers that both have at least, and at most. */
    bounds: () => ({ done, begun }),
    async read(from: SignedServices) {
      const read = async (path: string): Promise<number> => {
        const { status, bytes } = await from.send('storage', 'GET', path);
        if (status === 404) return 0;
        const number = Number(bytes.toString().split(' ')[0]);
        expect([path, status, bytes.equals(content(number))]).toEqual([path, 200, true]);
        return number;
      };
      return [await read(first), await read(second)] as const;
    },
  };
}

type Way = 'fork' | 'snapshot';

/** Copies the service in one of two ways and starts what was copied. */
async function copy(way: Way, round: number): Promise<LocalInfo> {
  const words = way === 'fork' ? [] : ['--snapshot', `round${round}`];
  if (way === 'snapshot') await user.json('local', 'snapshot', 'create', `round${round}`);
  const fork = await user.json<LocalInfo>('local', 'fork', '--http', ...words);
  forks.push(fork.dataDir);
  return fork;
}

test(`snapshots and forks under full load are of one moment, seed ${seed}`, { timeout: 120_000 + rounds * 30_000 }, async () => {
  const services = await openServices(user.local, 64);
  let reached = services;
  const idle = Array.from({ length: idleCount }, (_, number) => `idle${number}`);
  const busy = Array.from({ length: busyCount }, (_, number) => `busy${number}`);
  for (const name of [...idle, ...busy, 'chains']) await services.send('storage', 'PUT', `/demo/stor/${name}`, directory);
  const idleWorkers = idle.map((name, number) => createWorker(() => reached, name, createRandom(seed + number)));
  const busyWorkers = busy.map((name, number) => createWorker(() => services, name, createRandom(seed + 100 + number)));
  const chains = Array.from({ length: chainCount }, (_, number) => createChain(services, `chain${number}`));
  const over = new AbortController();
  let requests = 0;
  const working = [...busyWorkers, ...chains].map(async (worker) => {
    while (!over.signal.aborted) {
      await worker.step();
      requests += 1;
    }
  });
  try {
    for (let round = 1; round <= rounds; round += 1) {
      for (let step = 0; step < 15; step += 1) await Promise.all(idleWorkers.map((worker) => worker.step()));
      const before = chains.map((chain) => chain.bounds().done);
      const [atFirst, way] = [requests, round % 2 === 0 ? ('fork' as const) : ('snapshot' as const)];
      const fork = await copy(way, round);
      const after = chains.map((chain) => chain.bounds().begun);
      expect(requests).toBeGreaterThan(atFirst);
      const there = await openServices(fork, 16);
      for (const [number, chain] of chains.entries()) {
        const [first, second] = await chain.read(there);
        expect([first - second === 0 || first - second === 1, second >= (before[number] ?? 0), first <= (after[number] ?? 0)]).toEqual([
          true,
          true,
          true,
        ]);
      }
      reached = there;
      const state = await readComputeState(there);
      const wrong = (await Promise.all(idleWorkers.map((worker) => worker.check(state)))).flat();
      reached = services;
      await there.close();
      await user.cloud(['local', 'stop', '--data', fork.dataDir]);
      expect([round, wrong]).toEqual([round, []]);
      await assertWholeStore(fork.dataDir, { mayHaveGarbage: true });
      rmSync(fork.dataDir, { recursive: true });
    }
  } finally {
    over.abort();
    await Promise.all(working);
  }
  await Promise.all(idleWorkers.map((worker) => worker.step()));
  const state = await readComputeState(services);
  expect((await Promise.all([...idleWorkers, ...busyWorkers].map((worker) => worker.check(state)))).flat()).toEqual([]);
  await services.close();
  await user.cloud(['local', 'stop']);
  // What was not removed meanwhile was removed afterwards, by the service or by the collection of the next start.
  await user.json('local', 'start', '--http', '--compute-port', '0', '--stor-port', '0');
  await waitForRemovals(user.local.dataDir);
  await user.cloud(['local', 'stop']);
  await assertWholeStore(user.local.dataDir);
  expect(existsSync(join(user.local.dataDir, 'snapshots', 'round1'))).toBe(true);
  report('proof', {
    name: `${rounds} snapshots and forks of a service under full load`,
    ours: `${requests} works meanwhile; nothing acknowledged is missing, every content is there`,
    promise: 'each is of one moment',
  });
});

test('a restore under full load fails no request, and gives back the moment of the snapshot', { timeout: 120_000 }, async () => {
  const local = await user.json<LocalInfo>('local', 'start', '--http', '--compute-port', '0', '--stor-port', '0');
  const services = await openServices(local, 64);
  const chain = createChain(services, 'given-back');
  await chain.step();
  await user.json('local', 'snapshot', 'create', 'given-back');
  const over = new AbortController();
  let [requests, most] = [0, 0];
  const writers = Array.from({ length: chainCount }, (_, number) => createChain(services, `other${number}`));
  const working = writers.map(async (writer) => {
    while (!over.signal.aborted) {
      await writer.step();
      requests += 1;
    }
  });
  try {
    for (let round = 1; round <= rounds; round += 1) {
      await chain.step();
      const [atFirst, began] = [requests, performance.now()];
      expect(await user.cloud(['local', 'snapshot', 'restore', 'given-back'])).toMatchObject({ code: 0 });
      most = Math.max(most, performance.now() - began);
      expect([await chain.read(services), requests > atFirst]).toEqual([[1, 1], true]);
    }
  } finally {
    over.abort();
    await Promise.all(working);
  }
  // What is overwritten after a restore is what was written after it.
  for (const writer of writers) await writer.step();
  for (const writer of writers) expect(await writer.read(services)).toEqual([writer.bounds().done, writer.bounds().done]);
  await services.close();
  await waitForRemovals(local.dataDir);
  await user.cloud(['local', 'stop']);
  await assertWholeStore(local.dataDir);
  report('proof', {
    name: `${rounds} restores under full load`,
    ours: `${requests} works meanwhile, none failed; the longest command took ${Math.round(most)} ms`,
    promise: 'no request fails; all is as in the snapshot',
  });
});
