import { chmodSync, chownSync } from 'node:fs';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import type { LimitValues } from '../../api/service-limits.ts';
import { createPauses } from '../../base/pauses.ts';
import type { JobReduceInputRow } from '../store/job-schema.ts';
import { readPages } from '../store/read-pages.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob, Task } from './active-job.ts';
import { inputDirectory, rootDirectory, type Isolation } from './isolation.ts';
import { baseOf, type TaskPlace } from './results.ts';
import { placeSource, resolveSources, wantInput, type Wanted } from './sources.ts';
import type { ZoneTask } from './zone.ts';
import { zoneGroup, type Identity } from './zone-place.ts';
import type { Failure } from './outcome.ts';
import type { Complaint } from './result.ts';
import type { Source } from './active-job.ts';

/** Maximum length of a file name, bytes. */
const longestName = 255;

/** Inputs of a reducer that are looked up together. */
const batchSize = 100;

/** Everything that preparing a task and collecting its outputs needs. */
export interface TaskEnvironment extends TaskPlace {
  readonly store: Store;
  readonly isolation: Isolation;
  readonly now: () => number;
  /** Limits of accounts that have no limits of their own. */
  readonly serviceLimits?: LimitValues | undefined;
}

/** Shortens a name to its end, which has the file extension. */
function fitName(name: string): string {
  const bytes = Buffer.from(name);
  if (bytes.length <= longestName) return name;
  const end = bytes.subarray(-longestName).toString();
  return end.replace(/^\uFFFD+/u, '').slice(-longestName / 2);
}

/** Lets the user of a zone read an input, if zones have users of their own. */
function shareInput(isolation: Isolation, file: string): void {
  if (!isolation.hasIdentities) return;
  chownSync(file, -1, zoneGroup);
  chmodSync(file, 0o640);
}

/** @returns the file name of the input in the task's slot */
async function prepareMap({ store, isolation, directory, slot }: TaskEnvironment, task: Task, source: Source): Promise<string | Failure> {
  const name = fitName(source.place.name);
  const wanted = wantInput(task.phase.number, { ...task, input: source.place.path });
  const file = join(inputDirectory(directory), slot, name);
  // Without a sandbox a task could write to its input file, so it gets a copy.
  const failure = await placeSource(store, task.job, { wanted, source }, { file, shared: isolation.kind !== 'none' });
  if (failure) return failure;
  shareInput(isolation, file);
  return name;
}

/** An input of a reducer, and the input of phase 0 from which it derives, if that is known. */
type ReduceInput = Wanted & Pick<JobReduceInputRow, 'origin'>;

async function* listReduceInputs({ db }: Store, { job, phase, number }: Task): AsyncGenerator<ReduceInput[]> {
  const where = sql`job = ${job.id} and phase = ${phase.number} and reducer = ${number}`;
  const columns = ['number', 'input', 'origin', 'adder', 'given'] as const;
  const pages = readPages<JobReduceInputRow>(db, 'job_reduce_inputs', { key: ['number'], columns, where, size: batchSize });
  for await (const rows of pages) yield rows.map((row) => ({ ...wantInput(phase.number, row), origin: row.origin }));
}

/** Places all inputs of a reducer in its zone, and a list of them. Unreadable inputs are left out and returned as complaints. */
async function prepareReduce({ store, isolation, directory, slot }: TaskEnvironment, task: Task): Promise<Complaint[]> {
  const complaints: Complaint[] = [];
  const files: string[] = [];
  // Small inputs are placed synchronously, and there may be a million.
  const pause = createPauses();
  for await (const inputs of listReduceInputs(store, task)) {
    const sources = await resolveSources(store, task.job, inputs);
    for (const [index, wanted] of inputs.entries()) {
      await pause();
      const source = sources[index];
      const file = join(slot, String(files.length));
      const at = { file: join(inputDirectory(directory), file), shared: true };
      const failure = !source || 'code' in source ? source : await placeSource(store, task.job, { wanted, source }, at);
      if (failure) {
        complaints.push({ input: wanted.path, origin: wanted.origin, failure });
        continue;
      }
      shareInput(isolation, at.file);
      files.push(`${join(isolation.inputsOf(directory), file)}\0`);
    }
  }
  const list = join(inputDirectory(directory), slot, 'list');
  await writeFile(list, files.join(''));
  shareInput(isolation, list);
  return complaints;
}

/** A task that is ready to begin. */
export interface Prepared {
  readonly zoneTask: ZoneTask;
  readonly complaints: readonly Complaint[];
  /** File name of its only input; absent for a reducer. */
  readonly input?: string;
}

/** Places everything that a task needs in its zone. */
export async function prepareTask(environment: TaskEnvironment, task: Task): Promise<Prepared | Failure> {
  const { job, phase, number, origin, input, source } = task;
  const { slot, isolation, directory } = environment;
  const outputBase = baseOf(job, phase.number, origin);
  if (!source) {
    const complaints = await prepareReduce(environment, task);
    return { zoneTask: { slot, object: '', file: '', outputBase, reducer: String(number) }, complaints };
  }
  const name = await prepareMap(environment, task, source);
  if (typeof name !== 'string') return name;
  const file = join(isolation.inputsOf(directory), slot, name);
  return { zoneTask: { slot, object: input ?? '', file, outputBase, reducer: '' }, complaints: [], input: name };
}

/** A zone that gets assets, and the user who may change them there. */
interface AssetPlace {
  readonly directory: string;
  readonly identity: Identity | undefined;
}

/** Places the assets of a phase in a zone, each under its own path. @returns the failure if one is missing */
export async function prepareAssets(
  store: Store,
  job: ActiveJob,
  assets: readonly string[],
  zone: AssetPlace,
): Promise<Failure | undefined> {
  const wanted = assets.map((path) => ({ path, adder: null, isOwn: false }));
  for (const [index, source] of (await resolveSources(store, job, wanted)).entries()) {
    const asset = wanted[index];
    if (!asset) continue;
    const failure = 'code' in source ? source : await placeAsset(store, job, { wanted: asset, source }, zone);
    if (failure) return { code: 'TaskInitError', message: `failed to load asset "${asset.path}": ${failure.message}` };
  }
  return undefined;
}

/** Places an asset in a zone, as an executable file. */
async function placeAsset(
  store: Store,
  job: ActiveJob,
  asset: { wanted: Wanted; source: Source },
  { directory, identity }: AssetPlace,
): Promise<Failure | undefined> {
  const folder = join(rootDirectory(directory), 'assets');
  const file = join(folder, asset.source.place.path);
  await mkdir(dirname(file), { recursive: true });
  const failure = await placeSource(store, job, asset, { file, shared: false });
  if (failure) return failure;
  await chmod(file, 0o755);
  if (identity) for (let path = file; path !== folder; path = dirname(path)) await chown(path, identity.uid, identity.gid);
  return undefined;
}
