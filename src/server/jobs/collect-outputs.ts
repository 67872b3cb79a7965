import { join } from 'node:path';
import { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import { createPauses } from '../../base/pauses.ts';
import { findAccount } from '../access/accounts.ts';
import { discardContents } from '../storage/garbage.ts';
import { ensureDirectory, findEntry } from '../storage/entries.ts';
import { chooseObjectHeaders, readCopies } from '../storage/headers.ts';
import { parentOf, placeOfAbsolute, type Place } from '../storage/paths.ts';
import type { Store } from '../store/store.ts';
import type { AccountRow } from '../store/schema.ts';
import type { Task } from './active-job.ts';
import { streamDirectory } from './isolation.ts';
import { createJudge, type Judge } from './party.ts';
import { OutputsTooLarge, type ReserveOutput } from './output-budget.ts';
import { countReducers } from './phases.ts';
import { baseOf, saveFile, type TaskPlace } from './results.ts';
import { openTaskFile, openTaskFolder, type TaskFolder } from './task-files.ts';
import { describeDiskLimit, diskLimitBytes } from './zone-limits.ts';
import { BrokenEmission, openEmissions, type Emission, type Emissions } from './tools/emissions.ts';
import type { Ending, Failure, NamedObject, NewObject, TaskOutput, TaskOutputs } from './outcome.ts';

/** Error codes of outputs that the service refuses, by the HTTP status of the equivalent request. */
const refusalCodes: Readonly<Record<number, string>> = {
  403: 'AuthorizationError',
  404: 'ResourceNotFoundError',
  507: 'NotEnoughSpaceError',
};

/** The failure of a task whose output cannot be stored. @param path undefined for an output that the task did not name */
export function failOutput(path: string | undefined, error: ApiError): Failure {
  const output = path === undefined ? 'the output' : `the output ${path}`;
  return { code: refusalCodes[error.status] ?? 'UserTaskError', message: `${output} cannot be stored: ${error.message}` };
}

/** The place of an object that a task named. @throws {ApiError} 400 if `path` is not the path of an object */
function placeNamed(path: string): Place {
  const place = /[\r\n]/.test(path) ? undefined : placeOfAbsolute(path);
  if (!place) throw new ApiError(400, 'InvalidResource', 'it must be a path like /login/stor/name without line breaks');
  return place;
}

/** Creates the missing directories above a place, if the job's creator may create them. */
async function makeParents({ store, judge, account, now }: Collection, place: Place): Promise<void> {
  const missing: Place[] = [];
  for (let above = parentOf(place); above && !(await findEntry(store.db, above)); above = parentOf(above)) missing.unshift(above);
  for (const directory of missing) {
    await judge(storage.putDirectory, account, directory);
    await store.write((transaction) => ensureDirectory(transaction, directory, now()));
  }
}

/** The context in which the outputs of a task are collected. */
interface Collection {
  readonly store: Store;
  readonly judge: Judge;
  /** The account that owns the path being handled. */
  readonly account: AccountRow;
  readonly now: () => number;
}

/** Checks that the creator of the job may write an object that the task named. @throws {ApiError} the error of the PUT */
async function describeNamed(
  store: Store,
  task: Task,
  emission: Emission,
  now: () => number,
): Promise<Omit<NamedObject, keyof NewObject> & { place: Place }> {
  const { job } = task;
  const place = placeNamed(emission.path);
  const account = place.login === job.account.login ? job.account : await findAccount(store.db, 'storage', place.login);
  if (!account) throw new ApiError(404, 'ResourceNotFound', `account ${place.login} does not exist`);
  const judge = createJudge(store, job.creator, job);
  const headers = JSON.stringify(chooseObjectHeaders(emission.headers, place));
  const copies = readCopies(emission.copies);
  if (emission.parents) await makeParents({ store, judge, account, now }, place);
  await judge(storage.putObject, account, place);
  return { place, headers, copies };
}

/** @throws {ApiError} if the next phase does not have this reducer */
function checkReducer({ job, phase }: Task, { reducer }: Emission): void {
  const next = job.phases[phase.number + 1];
  const count = next ? countReducers(next) : 0;
  if (reducer === undefined || count === 0 || reducer < count) return;
  throw new ApiError(400, 'InvalidJob', `there is no reducer ${reducer}: the next phase has ${count}`);
}

/** How the outputs of a task are collected. */
export interface CollectOptions {
  readonly emitted: Ending['emitted'];
  readonly now: () => number;
  readonly reserve: ReserveOutput;
}

async function collectPaths(emissions: Emissions, emission: Emission): Promise<TaskOutput[]> {
  const pause = createPauses();
  const outputs: TaskOutput[] = [];
  for (const path of await emissions.readPaths(emission)) {
    outputs.push({ path: placeNamed(path).path, given: 1, reducer: emission.reducer });
    await pause();
  }
  return outputs;
}

/** Adds an output of a tool to those that were collected before. */
async function collectEmission(
  store: Store,
  task: Task,
  { folder, emissions, emission }: { folder: TaskFolder; emissions: Emissions; emission: Emission },
  { now, reserve }: CollectOptions,
  { outputs, objects, named }: Collected,
): Promise<void> {
  const { kind, path, reducer, body } = emission;
  checkReducer(task, emission);
  if (kind === 'none') return;
  if (kind === 'objects') {
    for (const output of await collectPaths(emissions, emission)) outputs.push(output);
    return;
  }
  const options = { base: baseOf(task.job, task.phase.number, task.origin), now, signal: task.job.stopping.signal };
  if (path === '') {
    const object = await saveFile(store, folder.open(body), { ...options, reserve });
    objects.push(object);
    outputs.push({ path: object.place.path, given: 0, reducer });
    return;
  }
  const described = await describeNamed(store, task, emission, now);
  const { place } = described;
  const reserveNamed: ReserveOutput = async ({ size }) => reserve({ place, size, replaced: await findEntry(store.db, place) });
  named.push({ ...(await saveFile(store, folder.open(body), { ...options, reserve: reserveNamed })), ...described });
  if (kind !== 'tee') outputs.push({ path: place.path, given: 1, reducer });
}

/** The outputs that were collected so far. */
interface Collected {
  readonly outputs: TaskOutput[];
  readonly objects: NewObject[];
  readonly named: NamedObject[];
}

/** Compares the sum of the sizes of all outputs with the disk limit, before any of them is copied. @throws {OutputsTooLarge} */
async function assertSizes({ phase: { disk } }: Task, folder: TaskFolder, emissions: readonly Emission[]): Promise<void> {
  if (disk === undefined) return;
  const pause = createPauses();
  let sum = 0;
  for (const { body } of emissions) {
    sum += folder.measure(body);
    if (sum > diskLimitBytes(disk)) throw new OutputsTooLarge(describeDiskLimit(disk));
    await pause();
  }
}

/** Collects the outputs of the tools. @returns true if stdout is not an output */
async function collectEmissions(
  store: Store,
  task: Task,
  folder: TaskFolder,
  options: CollectOptions,
  { collected, onPath }: { collected: Collected; onPath: (path: string) => void },
): Promise<boolean> {
  const emissions = openEmissions(folder);
  const pause = createPauses();
  let isExplicit = false;
  const all = await emissions.list();
  await assertSizes(task, folder, all);
  for (const emission of all) {
    task.job.stopping.signal.throwIfAborted();
    onPath(emission.path);
    isExplicit ||= emission.kind !== 'tee';
    await collectEmission(store, task, { folder, emissions, emission }, options, collected);
    await pause();
  }
  return isExplicit;
}

/** The outputs of a successful task: those of its tools, and its stdout unless the tools left outputs (other than those of kind `tee`). */
export async function collectOutputs(
  store: Store,
  task: Task,
  { directory, slot }: TaskPlace,
  options: CollectOptions,
): Promise<TaskOutputs | Failure> {
  const { emitted, now, reserve } = options;
  const streams = streamDirectory(directory);
  const collected: Collected = { outputs: [], objects: [], named: [] };
  const folder = emitted === 'some' ? openTaskFolder(join(streams, 'emitted', slot)) : undefined;
  let path: string | undefined;
  try {
    if (emitted !== 'none' && !folder) throw new BrokenEmission('they cannot be read');
    const onPath = (of: string): void => {
      path = of === '' ? 'of mcat, mpipe or msplit' : of;
    };
    const isExplicit = folder !== undefined && (await collectEmissions(store, task, folder, options, { collected, onPath }));
    if (!isExplicit) {
      path = undefined;
      const base = baseOf(task.job, task.phase.number, task.origin);
      const file = openTaskFile(join(streams, 'out', slot));
      const object = await saveFile(store, file, { base, now, signal: task.job.stopping.signal, reserve });
      collected.objects.push(object);
      collected.outputs.push({ path: object.place.path, given: 0 });
    }
    return collected;
  } catch (error) {
    await discardContents(store, [...collected.objects, ...collected.named]);
    if (error instanceof ApiError) return failOutput(path, error);
    if (error instanceof OutputsTooLarge) return { code: 'UserTaskError', message: error.message };
    if (error instanceof BrokenEmission) return { code: 'UserTaskError', message: `the outputs of the task: ${error.message}` };
    throw error;
  } finally {
    folder?.close();
  }
}
