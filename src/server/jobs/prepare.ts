import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Store } from '../store/store.ts';
import type { ActiveJob, Failure, Task } from './active-job.ts';
import { inputDirectory, rootDirectory, type Isolation } from './isolation.ts';
import { baseOf, type TaskPlace } from './results.ts';
import { placeAsset, placeSource, resolveSources, SourceReplaced, type Source } from './sources.ts';
import type { ZoneTask } from './zone.ts';

/** Longest name of a file, bytes. */
const longestName = 255;

/** Inputs of a reducer that are placed together. */
const batchSize = 100;

/** An input of a reducer that cannot be read. */
export interface Complaint {
  readonly input: string;
  readonly failure: Failure;
}

/** Where a task is prepared. */
export interface Workshop extends TaskPlace {
  readonly store: Store;
  readonly isolation: Isolation;
}

/** The end of a name, which has what tells the kind of a file. */
function fitName(name: string): string {
  const bytes = Buffer.from(name);
  return bytes.length <= longestName
    ? name
    : bytes
        .subarray(-longestName)
        .toString()
        .replace(/^\uFFFD+/u, '')
        .slice(-longestName / 2);
}

/** @returns the name of the input in the task's place. */
async function prepareMap({ store, isolation, directory, slot }: Workshop, source: Source): Promise<string> {
  const name = fitName(source.place.name);
  // Where there are no walls a task could write to the file it reads.
  await placeSource(store, source, join(inputDirectory(directory), slot, name), { shared: isolation.kind === 'namespaces' });
  return name;
}

/** Reads the source again when it was replaced since it was looked up. */
async function prepareCurrent(workshop: Workshop, task: Task, source: Source): Promise<string | Failure> {
  try {
    return await prepareMap(workshop, source);
  } catch (error) {
    if (!(error instanceof SourceReplaced)) throw error;
    const [current] = await resolveSources(workshop.store, task.job, [source.place.path], task.phase.number);
    if (!current || 'code' in current) return current ?? { code: 'EJ_NOENT', message: 'no such object' };
    return prepareMap(workshop, current);
  }
}

async function* listReduceInputs({ db }: Store, { job, phase, number }: Task): AsyncGenerator<string[]> {
  for (let after = -1; ;) {
    const rows = await db
      .selectFrom('job_reduce_inputs')
      .select(['number', 'input'])
      .where('job', '=', job.id)
      .where('phase', '=', phase.number)
      .where('reducer', '=', number)
      .where('number', '>', after)
      .orderBy('number')
      .limit(batchSize)
      .execute();
    const last = rows.at(-1);
    if (!last) return;
    yield rows.map(({ input }) => input);
    after = last.number;
  }
}

/** Puts all inputs of a reducer into its zone, and their list; what cannot be read is left out and complained about. */
async function prepareReduce({ store, isolation, directory, slot }: Workshop, task: Task): Promise<Complaint[]> {
  const complaints: Complaint[] = [];
  const files: string[] = [];
  for await (const inputs of listReduceInputs(store, task)) {
    for (const [index, source] of (await resolveSources(store, task.job, inputs, task.phase.number)).entries()) {
      const input = inputs[index] ?? '';
      if ('code' in source) complaints.push({ input, failure: source });
      else {
        const file = join(slot, String(files.length));
        await placeSource(store, source, join(inputDirectory(directory), file), { shared: true });
        files.push(`${join(isolation.inputsOf(directory), file)}\0`);
      }
    }
  }
  await writeFile(join(inputDirectory(directory), slot, 'list'), files.join(''));
  return complaints;
}

/** A task that can begin. */
export interface Prepared {
  readonly zoneTask: ZoneTask;
  readonly complaints: readonly Complaint[];
  /** Name of its only input; absent for a reducer. */
  readonly input?: string;
}

/** Puts everything a task needs into its zone. */
export async function prepareTask(workshop: Workshop, task: Task): Promise<Prepared | Failure> {
  const { job, phase, number, origin, input, source } = task;
  const { slot, isolation, directory } = workshop;
  const outputBase = baseOf(job, phase.number, origin);
  if (!source) {
    const complaints = await prepareReduce(workshop, task);
    return { zoneTask: { slot, object: '', file: '', outputBase, reducer: String(number) }, complaints };
  }
  const name = await prepareCurrent(workshop, task, source);
  if (typeof name !== 'string') return name;
  const file = join(isolation.inputsOf(directory), slot, name);
  return { zoneTask: { slot, object: input ?? '', file, outputBase, reducer: '' }, complaints: [], input: name };
}

/** Puts the assets of a phase into a zone, each under its own path. @returns why one is not there. */
export async function prepareAssets(
  store: Store,
  job: ActiveJob,
  assets: readonly string[],
  directory: string,
): Promise<Failure | undefined> {
  for (const [index, source] of (await resolveSources(store, job, assets)).entries()) {
    if ('code' in source) return { code: 'TaskInitError', message: `failed to load asset "${assets[index] ?? ''}": ${source.message}` };
    const file = join(rootDirectory(directory), 'assets', source.place.path);
    await mkdir(dirname(file), { recursive: true });
    await placeAsset(store, source, file);
  }
  return undefined;
}
