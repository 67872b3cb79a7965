import { join } from 'node:path';
import { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import { findAccount } from '../access/accounts.ts';
import { ensureDirectory, findEntry } from '../storage/entries.ts';
import { chooseObjectHeaders, readCopies } from '../storage/headers.ts';
import { parentOf, placeOfAbsolute, type Place } from '../storage/paths.ts';
import type { Store } from '../store/store.ts';
import type { AccountRow } from '../store/schema.ts';
import type { Task } from './active-job.ts';
import { streamDirectory } from './isolation.ts';
import { createJudge, type Judge } from './party.ts';
import { countReducers } from './phases.ts';
import { baseOf, saveFile, type TaskPlace } from './results.ts';
import { openTaskFile, openTaskFolder, type TaskFolder } from './task-files.ts';
import { BrokenEmission, readEmissions, readPaths, type Emission } from './tools/emissions.ts';
import type { Failure, NamedObject, NewObject, TaskOutput, TaskOutputs } from './outcome.ts';

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

async function collectEmission(store: Store, task: Task, folder: TaskFolder, emission: Emission, now: () => number): Promise<TaskOutputs> {
  const { kind, path, reducer, body } = emission;
  checkReducer(task, emission);
  if (kind === 'none') return { outputs: [], objects: [], named: [] };
  if (kind === 'objects') {
    const outputs = readPaths(folder, emission).map((each): TaskOutput => ({ path: placeNamed(each).path, given: 1, reducer }));
    return { outputs, objects: [], named: [] };
  }
  const base = baseOf(task.job, task.phase.number, task.origin);
  if (path === '') {
    const object = await saveFile(store, folder.open(body), { base, now });
    return { outputs: [{ path: object.place.path, given: 0, reducer }], objects: [object], named: [] };
  }
  const described = await describeNamed(store, task, emission, now);
  const named: NamedObject = { ...(await saveFile(store, folder.open(body), { base, now })), ...described };
  const outputs: TaskOutput[] = kind === 'tee' ? [] : [{ path: named.place.path, given: 1, reducer }];
  return { outputs, objects: [], named: [named] };
}

/** The outputs of a successful task: those of its tools, and its stdout unless the tools left outputs (other than those of kind `tee`). */
export async function collectOutputs(
  store: Store,
  task: Task,
  { directory, slot }: TaskPlace,
  { emitted, now }: { emitted: 'none' | 'some' | 'lost'; now: () => number },
): Promise<TaskOutputs | Failure> {
  const streams = streamDirectory(directory);
  const collected: TaskOutputs[] = [];
  let isExplicit = false;
  if (emitted !== 'none') {
    const folder = emitted === 'some' ? openTaskFolder(join(streams, 'emitted', slot)) : undefined;
    let path = '';
    try {
      if (!folder) throw new BrokenEmission('they cannot be read');
      for (const emission of readEmissions(folder)) {
        ({ path } = emission);
        isExplicit ||= emission.kind !== 'tee';
        collected.push(await collectEmission(store, task, folder, emission, now));
      }
    } catch (error) {
      for (const { objects, named } of collected)
        for (const { content } of [...objects, ...named]) if (content !== null) await store.bytes.remove(content);
      if (error instanceof ApiError) return failOutput(path === '' ? 'of mcat, mpipe or msplit' : path, error);
      if (error instanceof BrokenEmission) return { code: 'UserTaskError', message: `the outputs of the task: ${error.message}` };
      throw error;
    } finally {
      folder?.close();
    }
  }
  if (!isExplicit) {
    const base = baseOf(task.job, task.phase.number, task.origin);
    const object = await saveFile(store, openTaskFile(join(streams, 'out', slot)), { base, now });
    collected.push({ outputs: [{ path: object.place.path, given: 0 }], objects: [object], named: [] });
  }
  return {
    outputs: collected.flatMap(({ outputs }) => outputs),
    objects: collected.flatMap(({ objects }) => objects),
    named: collected.flatMap(({ named }) => named),
  };
}
