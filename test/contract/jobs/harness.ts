import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job, JobError, Phase } from '../../../src/api/objects.ts';
import { detectIsolation } from '../../../src/server/jobs/detect-isolation.ts';
import { startJobEngine, type JobEngine } from '../../../src/server/jobs/engine.ts';
import type { Isolation } from '../../../src/server/jobs/isolation.ts';
import { installTools, toolsTarget } from '../../../src/server/jobs/tools/install.ts';
import type { ServiceSettings } from '../../../src/server/settings.ts';
import type { Store } from '../../../src/server/store/store.ts';
import { quoteShell } from '../../../src/base/quote.ts';
import { usualIsolation } from '../../support/job-sandboxes.ts';
import { sharedKeys } from '../../support/rsa-keys.ts';
import { createTestStorage, type TestStorage } from '../storage/harness.ts';
import type { EngineOptions } from '../../../src/server/jobs/engine-options.ts';

/** What a job that is done left behind. */
export interface Outcome {
  id: string;
  job: Job & { stats: Record<'errors' | 'outputs' | 'retries' | 'tasks' | 'tasksDone', number> };
  outputs: string[];
  /** Contents of the outputs. */
  contents: string[];
  errors: JobError[];
  failures: string[];
}

/** A test service that runs jobs, asked as `demo`. */
export interface TestJobs extends TestStorage {
  create(phases: unknown, name?: string): Promise<string>;
  add(id: string, inputs: readonly string[], end?: boolean): Promise<void>;
  state(id: string): Promise<Outcome['job']>;
  wait(id: string, limit?: number): Promise<Outcome>;
  /** Creates a job, feeds it and waits for its end. */
  run(phases: readonly Phase[], inputs?: readonly string[]): Promise<Outcome>;
  lines(target: string): Promise<string[]>;
  /** Zones whose init has begun. */
  countStarting(): number;
  /** Ends the engine as a stop of the service does, does `between`, and starts another over the same data. */
  restart(between?: () => Promise<void>): Promise<void>;
}

let found: Promise<Isolation> | undefined;

/**
 * The isolation of tests that are not about it, found by the first service of this worker: finding it takes a sandbox. Services that are
 * told a kind find it themselves.
 */
export function findIsolation(): Promise<Isolation> {
  const find = async (): Promise<Isolation> => {
    const dataDir = resolve(process.env[sharedKeys] ?? '', '..', `isolation-${process.pid}`);
    mkdirSync(dataDir);
    const tools = [{ source: installTools(dataDir), target: toolsTarget }];
    const detected = await detectIsolation({ dataDir, wanted: usualIsolation(), tools, log: () => undefined });
    if ('refusal' in detected) throw new Error(detected.refusal);
    return detected.isolation;
  };
  return (found ??= find());
}

/** One slot: a job starts one sandbox for each phase, whatever the number of its tasks. For tests in which nothing depends on it. */
export const narrow: Partial<EngineOptions> = { slots: 1 };

/** A shell command that does, for each input, what is given for the name of the object. */
export function chooseByName(commands: Readonly<Record<string, string>>): string {
  const choices = Object.entries(commands).map(([name, command]) => `${quoteShell(name)})\n${command}\n;;`);
  return `case \${MANTA_INPUT_OBJECT##*/} in\n${choices.join('\n')}\nesac`;
}

/** What came of one input of a job whose last phase is a map: contents of the outputs that are named after it, and its errors. */
export function resultOf({ outputs, contents, errors }: Outcome, input: string): { contents: string[]; errors: JobError[] } {
  return {
    contents: contents.filter((_, at) => outputs[at]?.includes(`/stor${input}.`) === true),
    errors: errors.filter((error) => error.p0input === input),
  };
}

export async function createTestJobs(options: Partial<EngineOptions> = {}, settings: ServiceSettings = {}): Promise<TestJobs> {
  const log: string[] = [];
  const isolation = options.isolation ?? (await findIsolation());
  const start = (store: Store, dataDir: string): JobEngine =>
    startJobEngine({
      store,
      dataDir,
      url: () => 'https://storage.test',
      server: 'east-1',
      now: Date.now,
      log: (line) => void log.push(line),
      ...options,
      isolation,
    });
  let engine: JobEngine | undefined;
  const service = await createTestStorage({
    settings,
    ...(options.now && { now: options.now, requestTime: Date.now }),
    startJobs: (store, dir) => {
      const { detected } = (engine = start(store, dir));
      return { detected, wake: (id) => engine?.wake(id), problemOf: (id) => engine?.problemOf(id), close: async () => engine?.close() };
    },
  });
  const lines = async (target: string): Promise<string[]> => {
    const { status, text } = await service.ask('GET', target);
    if (status !== 200) throw new Error(`GET ${target}: ${status} ${text}`);
    return text.split('\n').slice(0, -1);
  };
  const state = async (id: string): Promise<Outcome['job']> => {
    const { status, json, text } = await service.ask('GET', `/demo/jobs/${id}/live/status`);
    if (status !== 200) throw new Error(`status: ${status} ${text}`);
    return json as Outcome['job'];
  };
  const create = async (phases: unknown, name?: string): Promise<string> => {
    const { status, headers, text } = await service.ask('POST', '/demo/jobs', { json: { phases, ...(name !== undefined && { name }) } });
    if (status !== 201) throw new Error(`create: ${status} ${text}`);
    return headers['location']?.split('/').at(-1) ?? '';
  };
  const add = async (id: string, inputs: readonly string[], end = false): Promise<void> => {
    const body = inputs.map((input) => `${input}\n`).join('');
    const headers = { 'content-type': 'text/plain' };
    const { status, text } = await service.ask('POST', `/demo/jobs/${id}/live/in${end ? '?end=true' : ''}`, { body, headers });
    if (status !== 204) throw new Error(`add: ${status} ${text}`);
  };
  const wait = async (id: string, limit = 150_000): Promise<Outcome> => {
    const deadline = Date.now() + limit;
    const { db } = service.store;
    // The row is looked at until it says so: a request takes ten times as long.
    const isDone = async (): Promise<boolean> =>
      (await db.selectFrom('jobs').select('state').where('id', '=', id).executeTakeFirst())?.state === 'done';
    while (!(await isDone())) {
      if (Date.now() > deadline) throw new Error(`job ${id} is not done: ${JSON.stringify(await state(id))}\n${log.join('\n')}`);
      await sleep(30);
    }
    const job = await state(id);
    if (job.state !== 'done') throw new Error(`the row of job ${id} says that it is done, its status does not`);
    const outputs = await lines(`/demo/jobs/${id}/live/out`);
    const encode = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
    const contents = await Promise.all(outputs.map(async (output) => (await service.ask('GET', encode(output))).text));
    const errors = (await lines(`/demo/jobs/${id}/live/err`)).map((line) => JSON.parse(line) as JobError);
    return { id, job, outputs, contents, errors, failures: await lines(`/demo/jobs/${id}/live/fail`) };
  };
  const zonesDir = join(service.dir, 'zones');
  const countStarting = (): number =>
    existsSync(zonesDir) ? readdirSync(zonesDir).filter((zone) => existsSync(join(zonesDir, zone, 'io', 'err', 'init'))).length : 0;
  return {
    ...service,
    log,
    countStarting,
    lines,
    state,
    create,
    add,
    wait,
    restart: async (between) => {
      await engine?.close();
      await between?.();
      engine = start(service.store, service.dir);
    },
    run: async (phases, inputs = []) => {
      const id = await create(phases);
      await add(id, inputs, true);
      return wait(id);
    },
  };
}
