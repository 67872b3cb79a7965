import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { createWorker, readComputeState, type Worker } from '../support/mixed-work.ts';
import { createRandom } from '../support/random.ts';
import { useLocal, type LocalInfo } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';
import { openServices, type SignedServices } from '../support/signed.ts';
import { assertWholeStore, countFiles, waitForRemovals } from '../support/whole-store.ts';

/**
 * The service is killed at random moments of mixed work, again and again. What it acknowledged is there after each restart, what it
 * did not is there whole or not at all, directories count what they have, and in the end no bytes are left that nothing refers to.
 */

const rounds = scale(8, 100);
const workerCount = 16;
const user = useLocal('--http');
const random = createRandom(seed);
let local: LocalInfo;
let services: SignedServices;

async function connect(info: LocalInfo): Promise<void> {
  local = info;
  services = await openServices(info, 64);
}

async function start(): Promise<void> {
  await connect(await user.json<LocalInfo>('local', 'start', '--http', '--compute-port', '0', '--stor-port', '0'));
}

/** Waits until the service that was killed is gone. */
async function waitUntilGone(): Promise<void> {
  while (existsSync(`/proc/${local.pid}/exe`)) await sleep(5);
  await services.close();
}

async function kill(): Promise<void> {
  process.kill(local.pid, 'SIGKILL');
  await waitUntilGone();
}

afterAll(() => services.close());

/** Works until the service is gone; how many requests were answered. */
async function workUntilKilled(workers: readonly { step(): Promise<void> }[], milliseconds: number): Promise<number> {
  let done = 0;
  const over = new AbortController();
  const working = workers.map(async (worker) => {
    while (!over.signal.aborted) {
      await worker.step().then(
        () => (done += 1),
        () => sleep(1),
      );
    }
  });
  await sleep(milliseconds);
  process.kill(local.pid, 'SIGKILL');
  over.abort();
  await Promise.all(working);
  await waitUntilGone();
  return done;
}

const inputCount = 40;
const inputs = Array.from({ length: inputCount }, (_, number) => `/demo/stor/inputs/i${number}`);

/** Somebody who gives inputs to a job, one after the other. */
function createFeeder(): Worker {
  let job: string | undefined;
  let given: string[] = [];
  let asked: string | undefined;
  const wrong: string[] = [];

  async function readLines(stream: string): Promise<string[]> {
    const { bytes } = await services.send('storage', 'GET', `${job ?? ''}/live/${stream}`);
    return bytes
      .toString()
      .split('\n')
      .filter((line) => line !== '');
  }

  async function waitForEnd(): Promise<void> {
    await services.send('storage', 'POST', `${job ?? ''}/live/in/end`);
    const isDone = async (): Promise<boolean> =>
      (JSON.parse((await services.send('storage', 'GET', `${job ?? ''}/live/status`)).bytes.toString()) as { state: string }).state ===
      'done';
    for (const until = Date.now() + 60_000; !(await isDone());) {
      if (Date.now() > until) throw new Error(`job ${job ?? ''} does not end`);
      await sleep(50);
    }
  }

  return {
    async step() {
      if (job === undefined) {
        const created = await services.send('storage', 'POST', '/demo/jobs', { json: { phases: [{ exec: 'wc -c' }] } });
        job = String(created.headers['location']).replace(/^https?:\/\/[^/]+/u, '');
        return;
      }
      const next = inputs[given.length];
      if (asked !== undefined || next === undefined) return sleep(5);
      asked = next;
      const headers = { 'content-type': 'text/plain' };
      const { status } = await services.send('storage', 'POST', `${job}/live/in`, { headers, body: Buffer.from(`${next}\n`) });
      if (status === 204) given.push(next);
      else wrong.push(`an input was answered ${status}`);
      asked = undefined;
    },
    async check() {
      if (job === undefined) return [];
      const there = await readLines('in');
      const may = [given, asked === undefined ? given : [...given, asked]].map((list) => list.join());
      if (!may.includes(there.join())) wrong.push(`${job} has the inputs ${there.join()}; acknowledged are ${given.join()}`);
      await waitForEnd();
      const outputs = (await readLines('out')).map((path) => /inputs\/i\d+/u.exec(path)?.[0] ?? path);
      const wanted = there.map((path) => path.slice('/demo/stor/'.length));
      if (outputs.toSorted().join() !== wanted.toSorted().join())
        wrong.push(`${job} has the outputs ${outputs.join()} of ${wanted.join()}`);
      [job, given, asked] = [undefined, [], undefined];
      return wrong.splice(0);
    },
  };
}

/** Waits until nothing is removed any more, stops the service, and looks at its data: every content has its file, every file a row. */
async function checkContents(): Promise<void> {
  await waitForRemovals(local.dataDir);
  await services.close();
  await user.cloud(['local', 'stop']);
  await assertWholeStore(local.dataDir);
  await start();
}

test(`${rounds} times killed in the middle of mixed work, seed ${seed}`, { timeout: 120_000 + rounds * 15_000 }, async () => {
  await connect(user.local);
  const names = Array.from({ length: workerCount }, (_, number) => `worker${number}`);
  const directory = { headers: { 'content-type': 'application/json; type=directory' } };
  for (const name of [...names, 'inputs']) await services.send('storage', 'PUT', `/demo/stor/${name}`, directory);
  for (const path of inputs) await services.send('storage', 'PUT', path, { body: Buffer.from(path) });
  const workers = [...names.map((name, number) => createWorker(() => services, name, createRandom(seed + number))), createFeeder()];
  let [acknowledged, restarting] = [0, 0];
  for (let round = 1; round <= rounds; round += 1) {
    acknowledged += await workUntilKilled(workers, 100 + random() * 1000);
    // Sometimes it is killed again while it is still looking at what the first time left.
    if (random() < 0.2) {
      await start();
      await sleep(random() * 30);
      await kill();
    }
    const started = performance.now();
    await start();
    restarting = Math.max(restarting, performance.now() - started);
    const state = await readComputeState(services);
    const wrong = (await Promise.all(workers.map((worker) => worker.check(state)))).flat();
    expect([round, wrong]).toEqual([round, []]);
    expect(countFiles(join(local.dataDir, 'tmp'))).toBe(0);
    if (round % 10 === 0 || round === rounds) await checkContents();
  }
  expect(acknowledged).toBeGreaterThan(rounds * 10);
  const failures = readFileSync(join(local.dataDir, 'service.log'), 'utf8').match(/.*(?:internal error|collecting failed).*/gu) ?? [];
  expect(failures).toEqual([]);
  report('proof', {
    name: `service killed ${rounds} times in the middle of mixed work`,
    ours: `${acknowledged} acknowledged, none lost; restarts took at most ${Math.round(restarting)} ms`,
    promise: 'all acknowledged is there, the rest whole or absent',
  });
});
