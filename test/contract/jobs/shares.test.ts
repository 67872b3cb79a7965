import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Job } from '../../../src/api/objects.ts';
import { createTestJobs, type TestJobs } from './harness.ts';

/** Slots are shared between accounts. Only what tasks themselves say about the time counts: how long anything takes does not matter. */

let service: TestJobs;
beforeAll(async () => {
  service = await createTestJobs({ slots: 2 });
  await service.put('/demo/stor/a', 'a\n');
  await askOther('PUT', '/other/stor/a', 'a\n');
});
afterAll(() => service.close());

async function askOther(method: string, target: string, body?: string | { phases: unknown }) {
  const signing = { key: service.otherKey, keyId: `/other/keys/${service.otherKey.fingerprint}` };
  const given = typeof body === 'object' ? { json: body } : body === undefined ? {} : { body: Buffer.from(body) };
  const response = await service.storage(method, target, { signing, ...given });
  if (response.status >= 400) throw new Error(`${method} ${target}: ${response.status} ${response.text}`);
  return response;
}

/** What the tasks of a job of `other` wrote. */
async function runAsOther(exec: string, inputs: number): Promise<string[]> {
  const { headers } = await askOther('POST', '/other/jobs', { phases: [{ exec }] });
  const job = headers['location'] ?? '';
  await askOther('POST', `${job}/live/in?end=true`, '/other/stor/a\n'.repeat(inputs));
  await expect.poll(async () => ((await askOther('GET', `${job}/live/status`)).json as Job).state).toBe('done');
  const outputs = (await askOther('GET', `${job}/live/out`)).text.split('\n').slice(0, -1);
  return Promise.all(outputs.map(async (output) => (await askOther('GET', output)).text));
}

/** When a task began and ended, microseconds. */
interface Span {
  readonly begin: bigint;
  readonly end: bigint;
}

// Of bash 5, microseconds; whatever the locale puts between them.
const exec = 'echo ${EPOCHREALTIME//[!0-9]/}; sleep 0.05; echo ${EPOCHREALTIME//[!0-9]/}';

function readSpans(contents: readonly string[]): Span[] {
  const spans = contents.map((text) => {
    const [begin = '', end = ''] = text.split('\n');
    return { begin: BigInt(begin), end: BigInt(end) };
  });
  return spans.toSorted((left, right) => Number(left.begin - right.begin));
}

const repeat = (count: number): string[] => Array.from({ length: count }, () => '/demo/stor/a');

test('two accounts get the same share of the slots, however many jobs and tasks each has', async () => {
  const jobs = await Promise.all([0, 1, 2].map(() => service.create([{ exec }])));
  for (const id of jobs) await service.add(id, repeat(18), true);
  await expect.poll(async () => (await service.state(jobs[0] ?? '')).stats.tasksDone).toBeGreaterThan(0);
  const few = readSpans(await runAsOther(exec, 8));
  const many = readSpans((await Promise.all(jobs.map((id) => service.wait(id)))).flatMap(({ contents }) => contents));
  const [first, last] = [few[0]?.begin ?? 0n, few.at(-1)?.begin ?? 0n];
  const meanwhile = many.filter(({ begin }) => begin > first && begin < last);
  expect([few.length, many.length]).toEqual([8, 54]);
  // A slot each: as many, give or take what a zone takes to get its next task.
  expect(meanwhile.length).toBeLessThanOrEqual(16);
});

test('no more tasks of an account run at once than the limit says, and others run beside them', async () => {
  const limited = await createTestJobs({ slots: 3, accountTasks: 1 });
  await limited.put('/demo/stor/a', 'a\n');
  const jobs = await Promise.all([0, 1].map(() => limited.create([{ exec }, { exec: `cat; ${exec}` }])));
  for (const id of jobs) await limited.add(id, repeat(3), true);
  const texts = (await Promise.all(jobs.map((id) => limited.wait(id)))).flatMap(({ contents }) => contents);
  const spans = readSpans(texts.flatMap((text) => [text, text.split('\n').slice(2).join('\n')]));
  expect(spans).toHaveLength(12);
  for (const [at, { begin }] of spans.entries()) if (at > 0) expect(begin >= (spans[at - 1]?.end ?? 0n)).toBe(true);
  await limited.close();
});
