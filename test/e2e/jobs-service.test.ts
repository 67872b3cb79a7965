import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { useLocal, type LocalInfo } from '../support/sandbox.ts';

const local = useLocal();

interface Status {
  state: string;
  cancelled: boolean;
  stats: Record<string, number>;
}

/** Calls an operation of the object storage through `cloud api`, with the signature of the profile. */
async function ask(method: string, target: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await local.cloud(['api', '--service', 'stor', method, target, ...words]);
  if (code !== 0) throw new Error(`${method} ${target}: ${stderr}`);
  return stdout;
}

async function createJob(phases: unknown): Promise<string> {
  const body = local.write('job.json', JSON.stringify({ phases }));
  const { stdout } = await local.cloud(['api', '--service', 'stor', 'POST', '/demo/jobs', '--input', body, '-i']);
  const id = /location: \/demo\/jobs\/([0-9a-f-]{36})/iu.exec(stdout)?.[1];
  if (id === undefined) throw new Error(stdout);
  return id;
}

async function addInputs(id: string, inputs: readonly string[]): Promise<void> {
  const body = local.write('inputs.txt', inputs.map((input) => `${input}\n`).join(''));
  await ask('POST', `/demo/jobs/${id}/live/in?end=true`, '--input', body);
}

async function readStatus(id: string): Promise<Status> {
  return JSON.parse(await ask('GET', `/demo/jobs/${id}/live/status`)) as Status;
}

async function waitFor(id: string): Promise<Status> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const status = await readStatus(id);
    if (status.state === 'done') return status;
    await sleep(100);
  }
  throw new Error(`job ${id} is not done`);
}

async function putNumbers(count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `n${index}`);
  for (const name of names) local.write(`numbers/${name}`, `${name}\n`);
  const { code, stderr } = await local.shell('cloud stor mkdir -p /demo/stor/numbers && cloud stor put numbers/* /demo/stor/numbers/');
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return names.map((name) => `/demo/stor/numbers/${name}`);
}

function countProcesses(word: string): number {
  const lines = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line.includes(word) && !line.includes('ps -eo')).length;
}

describe('the jobs of the local service', () => {
  test('kill -9 in the middle of a job: after a start it ends with exactly one output an input, and no process is left', async () => {
    const inputs = await putNumbers(60);
    const id = await createJob([{ exec: 'sleep 0.1; cat; # unmistakable-4713' }]);
    await addInputs(id, inputs);
    await expect.poll(async () => (await readStatus(id)).stats['tasksDone'], { timeout: 10_000 }).toBeGreaterThan(2);
    process.kill(local.local.pid, 'SIGKILL');
    await expect.poll(() => countProcesses('unmistakable-4713'), { timeout: 2000 }).toBe(0);
    const again = await local.json<LocalInfo>('local', 'start', '--compute-port', '0', '--stor-port', '0');
    expect(again.pid).not.toBe(local.local.pid);
    const status = await waitFor(id);
    expect(status.stats).toMatchObject({ tasks: 60, tasksDone: 60, outputs: 60, errors: 0 });
    const outputs = (await ask('GET', `/demo/jobs/${id}/live/out`)).trim().split('\n');
    const sources = outputs.map((output) => /\/stor\/numbers\/n\d+(?=\.0\.)/u.exec(output)?.[0]);
    expect(new Set(sources)).toEqual(new Set(inputs.map((input) => input.slice('/demo'.length))));
    expect(outputs).toHaveLength(60);
  });

  test('the log of the service says how tasks are kept apart', () => {
    expect(readFileSync(`${local.local.dataDir}/service.log`, 'utf8')).toMatch(/jobs: tasks run (?:in|without) namespaces/u);
  });
});
