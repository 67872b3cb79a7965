import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Job, JobError } from '../../src/api/objects.ts';
import { report } from '../support/figures.ts';
import { checkJobHistory, type Batch, type JobHistory, type Observation } from '../support/job-history.ts';
import { createRandom } from '../support/random.ts';
import { useLocal, type LocalInfo } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';
import { openServices, type SignedServices } from '../support/signed.ts';

/**
 * Clients add inputs to jobs, look at them, end and cancel them while the service is killed again and again. Each input is recorded
 * once, whatever was acknowledged stays, counters add up, and nothing goes back (`test/support/job-history.ts`).
 */

const user = useLocal();
const rounds = scale(1, 15);
const jobsOfRound = 3;
const kills = scale(2, 6);
const random = createRandom(seed);
const names = Array.from({ length: 5 }, (_, number) => `o${number}`);

/** The service as it is now: another one after each kill. */
let services: SignedServices;
let pid = 0;

async function start(): Promise<void> {
  const info = await user.json<LocalInfo>('local', 'start', '--compute-port', '0', '--stor-port', '0');
  ({ pid } = info);
  await services.close();
  services = await openServices(info, 16);
}

beforeAll(async () => {
  pid = user.local.pid;
  services = await openServices(user.local, 16);
  for (const name of names) user.write(`in/${name}`, `${name}\n`);
  const { code, stderr } = await user.shell('cloud stor put -q -r in in');
  if (code !== 0) throw new Error(stderr);
});

afterAll(() => services.close());

/** Status of an answer; undefined when none came. */
async function send(method: string, path: string, body?: string): Promise<{ status: number; text: string } | undefined> {
  try {
    const { status, bytes } = await services.send('storage', method, path, body === undefined ? {} : { body: Buffer.from(body) });
    return { status, text: bytes.toString() };
  } catch {
    return undefined;
  }
}

/** Asks until there is an answer. */
async function insist(method: string, path: string): Promise<string> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    const answer = await send(method, path);
    if (answer && answer.status < 300) return answer.text;
    await sleep(100);
  }
  throw new Error(`${method} ${path}: no answer`);
}

interface Watched {
  readonly path: string;
  readonly batches: Batch[];
  readonly observations: Observation[];
  inputEnded: number | undefined;
  cancelled: number | undefined;
}

async function createJob(): Promise<Watched> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      const { status, headers } = await services.send('storage', 'POST', '/demo/jobs', { json: { phases: [{ exec: 'cat' }] } });
      const path = headers['location'];
      if (status === 201 && typeof path === 'string')
        return { path, batches: [], observations: [], inputEnded: undefined, cancelled: undefined };
    } catch {
      await sleep(100);
    }
  }
  throw new Error('no job can be created');
}

let sent = 0;

/** One request with inputs, some of which are there and some are not; the first is like no other. */
async function addInputs({ path, batches }: Watched): Promise<void> {
  sent += 1;
  const size = 1 + Math.floor(random() * 8);
  const others = Array.from({ length: size }, () => `/demo/stor/in/${random() < 0.6 ? (names[Math.floor(random() * 5)] ?? '') : 'none'}`);
  const lines = [`/demo/stor/unique/${sent}`, ...others];
  const answer = await send('POST', `${path}/live/in`, `${lines.join('\n')}\n`);
  const outcome = answer === undefined || answer.status >= 500 ? 'unknown' : answer.status === 204 ? 'added' : 'refused';
  batches.push({ lines, outcome, ended: performance.now() });
}

async function look({ path, observations }: Watched): Promise<Observation | undefined> {
  const begun = performance.now();
  const answer = await send('GET', `${path}/live/status`);
  if (answer?.status !== 200) return undefined;
  const { state, cancelled, inputDone, stats } = JSON.parse(answer.text) as Job;
  const observation = { begun, ended: performance.now(), state, cancelled, inputDone, stats: stats as Observation['stats'] };
  observations.push(observation);
  return observation;
}

async function drive(job: Watched, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await (random() < 0.5 ? addInputs(job) : look(job));
    await sleep(random() * 60);
  }
}

async function finish(job: Watched, cancel: boolean): Promise<JobHistory> {
  const { path } = job;
  if (cancel) {
    const answer = await send('POST', `${path}/live/cancel`);
    if (answer?.status === 202) job.cancelled = performance.now();
  } else {
    await insist('POST', `${path}/live/in/end`);
    job.inputEnded = performance.now();
  }
  let final: Observation | undefined;
  for (const deadline = Date.now() + 60_000; final?.state !== 'done';) {
    if (Date.now() > deadline) throw new Error(`${path} is not done: ${JSON.stringify(final)}`);
    final = (await look(job)) ?? final;
    await sleep(20);
  }
  const read = async (name: string): Promise<string[]> => (await insist('GET', `${path}/live/${name}`)).split('\n').slice(0, -1);
  const outputPaths = await read('out');
  const outputs = outputPaths.map((output) => output.slice(`${path}/stor`.length).replace(/\.0\.[0-9a-f-]{36}$/u, ''));
  const errors = (await read('err')).map((line) => JSON.parse(line) as JobError);
  const failures = errors.map(({ input = '' }) => input);
  // Each failed input once, however often it was added.
  expect(await read('fail')).toEqual([...new Set(failures)]);
  return { ...job, final, inputs: await read('in'), outputs, outputPaths, failures };
}

test(
  `histories of jobs whose service is killed can be true, ${rounds} rounds, seed ${seed}`,
  { timeout: 120_000 + rounds * 90_000 },
  async () => {
    let [inputs, outputs, looks, cut] = [0, 0, 0, 0];
    for (let round = 0; round < rounds; round += 1) {
      const jobs = [];
      for (let number = 0; number < jobsOfRound; number += 1) jobs.push(await createJob());
      const over = new AbortController();
      const clients = jobs.flatMap((job) => [drive(job, over.signal), drive(job, over.signal)]);
      for (let kill = 0; kill < kills; kill += 1) {
        await sleep(300 + random() * 700);
        process.kill(pid, 'SIGKILL');
        await start();
      }
      await sleep(300);
      over.abort();
      await Promise.all(clients);
      const histories = await Promise.all(jobs.map((job, number) => finish(job, number === 0)));
      for (const history of histories) {
        expect(checkJobHistory(history), `round ${round}`).toEqual([]);
        inputs += history.inputs.length;
        outputs += history.outputs.length;
        looks += history.observations.length;
        cut += history.batches.filter(({ outcome }) => outcome === 'unknown').length;
      }
    }
    expect(inputs).toBeGreaterThan(rounds * 20);
    expect(outputs).toBeGreaterThan(rounds * 5);
    report('proof', {
      name: `histories of jobs, ${rounds * kills} kills`,
      ours: `${rounds * jobsOfRound} jobs, ${inputs} inputs, ${outputs} outputs, ${looks} looks, ${cut} requests without an answer: none impossible`,
      promise: 'each input recorded once, counters add up, nothing goes back',
    });
  },
);
