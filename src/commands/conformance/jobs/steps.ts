import type { At } from '../at.ts';
import { linesOf, objectOf, recordsOf, type Json, type Response } from '../response.ts';
import { makeHome, putText } from '../storage/directories.ts';
import { keepName } from '../storage/uploads.ts';

/** A phase of the request that creates a job. */
export interface Phase {
  readonly type?: 'map' | 'reduce';
  readonly exec: string;
  readonly init?: string;
  readonly assets?: readonly string[];
  readonly count?: number;
}

export function createJob(at: At, phases: readonly Phase[]): Promise<Response> {
  return at.storage('POST', '~~/jobs', { json: { name: at.run, phases } });
}

/** Creates a job and returns its path. */
export async function makeJob(at: At, phases: readonly Phase[]): Promise<string> {
  const response = at.expect(await createJob(at, phases), { status: 201 });
  const location = (response.headers['location'] ?? '').replace(/^https?:\/\/[^/]+/u, '');
  const id = location.split('/').at(-1) ?? '';
  at.assert(id !== '', 'the response to CreateJob has no Location');
  await keepName(at, `job:${id}`);
  return `/${at.account}/jobs/${id}`;
}

/** Sends inputs as lines of one request. */
export function addInputs(at: At, job: string, paths: readonly string[]): Promise<Response> {
  return at.storage('POST', `${job}/live/in`, {
    body: paths.map((path) => `${path}\n`).join(''),
    headers: { 'content-type': 'text/plain' },
  });
}

export async function readJob(at: At, job: string): Promise<Json> {
  return objectOf(at.expect(await at.storage('GET', `${job}/live/status`), { status: 200 }));
}

/** Waits until a job is done and returns it. */
export async function waitForJob(at: At, job: string): Promise<Json> {
  return at.until(`${job} is done`, async () => {
    const shown = await readJob(at, job);
    return shown['state'] === 'done' ? shown : undefined;
  });
}

/** Runs a job to its end and returns its path. */
export async function runJob(at: At, phases: readonly Phase[], inputs: readonly string[]): Promise<string> {
  const job = await makeJob(at, phases);
  if (inputs.length > 0) at.expect(await addInputs(at, job, inputs), { status: 204 });
  at.expect(await at.storage('POST', `${job}/live/in/end`), { status: 202 });
  await waitForJob(at, job);
  return job;
}

/** Contents of the outputs, sorted. */
export async function readOutputs(at: At, job: string): Promise<string[]> {
  const paths = linesOf(at.expect(await at.storage('GET', `${job}/live/out`), { status: 200 }));
  const contents: string[] = [];
  for (const path of paths) contents.push(at.expect(await at.storage('GET', path), { status: 200 }).body.toString());
  return contents.sort();
}

export async function readErrors(at: At, job: string): Promise<Json[]> {
  return recordsOf(at.expect(await at.storage('GET', `${job}/live/err`), { status: 200 }));
}

/** Two objects that jobs read. */
export async function makeInputs(at: At): Promise<readonly string[]> {
  const home = await at.need(makeHome);
  const paths = [`${home}/input-1`, `${home}/input-2`];
  for (const [number, path] of paths.entries()) at.expect(await putText(at, path, `line ${number + 1}\n`), { status: 204 });
  return paths;
}
