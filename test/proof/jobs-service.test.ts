import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { useLocal, type LocalInfo } from '../support/sandbox.ts';

const local = useLocal('--job-time-limit', '3s', '--job-slots', '3');

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

/** Processes with just this command line; ps is the witness. */
function countProcesses(word: string): number {
  const lines = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line.trim() === word).length;
}

describe('the jobs of the local service', () => {
  test('as many tasks run at once as --job-slots says, and those that take longer than --job-time-limit are killed', async () => {
    const inputs = await putNumbers(4);
    const waiting = `sleep ${process.pid}.4714`;
    const id = await createJob([{ exec: `read -r name; [ "$name" = n3 ] || { ${waiting} & ${waiting}; }` }]);
    await addInputs(id, inputs);
    // Two in each of three tasks: more at once than there may be cores.
    await expect.poll(() => countProcesses(waiting), { interval: 20 }).toBe(6);
    const waited = await local.cloud(['jobs', 'wait', id]);
    expect([waited.code, countProcesses(waiting)]).toEqual([5, 0]);
    expect(waited.stderr).toContain('/n0: user command took longer than 3 s and was killed (TaskKilledError)\n');
    expect(waited.stderr).toContain(': 3 of 4 inputs failed\n');
    const refused = await local.cloud(['local', 'serve', '--data', 'other', '--job-time-limit', '0']);
    expect([refused.code, refused.stderr.split('\n')[0]]).toEqual([2, expect.stringContaining('--job-time-limit: must be')]);
  });

  test('kill -9 in the middle of a job: after a start it ends with exactly one output an input, and no process is left', async () => {
    const inputs = await putNumbers(60);
    const waiting = `sleep 0.1${process.pid}`;
    const id = await createJob([{ exec: `${waiting}; cat` }]);
    await addInputs(id, inputs);
    await expect.poll(async () => (await readStatus(id)).stats['tasksDone']).toBeGreaterThan(2);
    process.kill(local.local.pid, 'SIGKILL');
    await expect.poll(() => countProcesses(waiting)).toBe(0);
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
    expect(readFileSync(`${local.local.dataDir}/service.log`, 'utf8')).toMatch(/jobs: tasks run (?:in|without) a sandbox/u);
  });
});
