import { rmdirSync, rmSync, statSync } from 'node:fs';
import type { Headers } from '../../api/message.ts';
import { ApiError, isSystemError, LocalError, UsageError } from '../../errors.ts';
import type { Engine } from '../engine.ts';
import { fetchFile } from '../fetch-file.ts';
import { createFolder, type Folder } from '../folders.ts';
import { inspect } from '../inspect.ts';
import { linkObject } from '../link.ts';
import { makeLocalFolder, makeWay } from '../local-folders.ts';
import { hashFile } from '../local-walk.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { isConditionFailed } from '../refusal.ts';
import { tryAgain } from '../retry.ts';
import { openSource, type FileSource } from '../source.ts';
import { uploadObject } from '../upload.ts';
import type { Known } from './memory.ts';
import type { Expected, Step } from './steps.ts';

/** How files become objects and back. */
export interface CopyOptions {
  /** Headers of the object that a file is stored as. */
  readonly describe: (source: FileSource, target: RemotePath) => Promise<Headers>;
  readonly copies?: number | undefined;
  readonly modes: boolean;
  /** Bytes of another account's objects go through this machine when links are refused. */
  readonly copiesThrough: boolean;
}

/** Directories that steps go into, made when the first one needs them. Steps come in the order of `comparePaths`. */
export interface Folders {
  /** The directory that a path goes into; undefined when it was there before. */
  find(path: RemotePath): Folder | undefined;
  add(path: RemotePath, replacing: Expected | undefined): Folder;
}

/** Keeps the directories on the way to the latest one. */
export function createFolders(engine: Engine): Folders {
  const stack: Folder[] = [];
  function settle(path: RemotePath): Folder | undefined {
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      if (top.path.account === path.account && path.path.startsWith(`${top.path.path}/`)) return top;
      stack.pop();
    }
    return undefined;
  }
  return {
    find: settle,
    add: (path, replacing) => {
      const parent = settle(path);
      const plain = createFolder(engine.storage, path, parent);
      const folder =
        replacing?.etag === undefined || replacing.etag === ''
          ? plain
          : { path, ready: lazily(async () => replaceObject(engine, path, replacing.etag ?? '', plain)) };
      stack.push(folder);
      return folder;
    },
  };
}

function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined;
  return () => (making ??= make());
}

/** A directory in the place of an object: its data goes only when it is still the version that was seen. */
async function replaceObject({ storage }: Engine, path: RemotePath, etag: string, folder: Folder): Promise<boolean> {
  await storage.deleteObject({ ...path, ifMatch: etag });
  return await folder.ready();
}

/** What a step found out about the object and its file. */
export interface Done {
  readonly known?: Omit<Known, 'rel'> | undefined;
}

function wasChanged(path: string): LocalError {
  return new LocalError(`${path} is not as it was when this was planned: left alone`);
}

/** Whether an object has the bytes of a file. */
async function holdsFile({ storage }: Engine, path: RemotePath, { file, size }: FileSource): Promise<string | undefined> {
  const { headers } = (await inspect(storage, path)) ?? {};
  if (headers === undefined || Number(headers['content-length']) !== size || headers['content-md5'] === undefined) return undefined;
  return headers['content-md5'] === (await hashFile(file)) ? (headers['etag'] ?? '') : undefined;
}

/** What a request says of the version that is expected at its place; an empty etag expects nothing there. */
function conditionOf(etag: string | undefined): { ifMatch?: string; ifNoneMatch?: string } {
  if (etag === undefined) return {};
  return etag === '' ? { ifNoneMatch: '*' } : { ifMatch: etag };
}

async function putFile(engine: Engine, file: string, target: RemotePath, step: Step, options: CopyOptions): Promise<Done> {
  const source = openSource(file, file);
  if (source.kind !== 'file') throw new UsageError(`${file} is not a regular file`);
  const mtime = Math.floor(source.mtime);
  const { target: expected } = step;
  try {
    const headers = await options.describe(source, target);
    const { etag, md5 } = await uploadObject(engine, source, target, {
      headers,
      copies: options.copies,
      hasParent: true,
      mayUseParts: true,
      ...conditionOf(expected?.etag),
    });
    return { known: { etag, mtime, ...(md5 !== '' && { md5 }) } };
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    // It may have been done already: by an earlier run of the plan, or by a try whose reply was lost.
    const etag = await holdsFile(engine, target, source);
    if (etag === undefined) throw wasChanged(printRemotePath(target));
    return { known: { etag, mtime } };
  }
}

/** Whether a local file is as expected. @throws {LocalError} when it is neither that nor what is to be written */
async function checkLocal(
  engine: Engine,
  file: string,
  expected: Expected | undefined,
  source?: RemotePath,
): Promise<'as expected' | 'done'> {
  if (expected?.size === undefined) return 'as expected';
  const stats = statSync(file, { throwIfNoEntry: false });
  if (expected.size === -1 && stats === undefined) return 'as expected';
  if (stats === undefined) return source ? 'as expected' : 'done';
  if (stats.size === expected.size && Math.floor(stats.mtimeMs) === expected.mtime) return 'as expected';
  if (
    source &&
    stats.isFile() &&
    (await holdsFile(engine, source, { kind: 'file', label: file, file, size: stats.size, mtime: 0, mode: 0 }))
  )
    return 'done';
  throw wasChanged(file);
}

async function getFile(engine: Engine, source: RemotePath, file: string, step: Step, options: CopyOptions): Promise<Done> {
  if ((await checkLocal(engine, file, step.target, source)) === 'done') return {};
  makeWay(file, step.rel);
  const fetched = await fetchFile(engine, source, file, { size: step.size, etag: step.source?.etag, modes: options.modes, inTree: true });
  const { mtimeMs } = statSync(file);
  return { known: fetched.etag === undefined ? undefined : { etag: fetched.etag, mtime: Math.floor(mtimeMs) } };
}

/** Whether the target of a link is as expected. @throws {LocalError} when it is neither that nor what it is to be */
async function lookAt(engine: Engine, target: RemotePath, { source, target: expected }: Step): Promise<'as expected' | 'done'> {
  const there = await inspect(engine.storage, target);
  const etag = there?.headers['etag'] ?? '';
  if (etag !== '' && etag === source?.etag) return 'done';
  if (there?.type === 'directory' || etag !== expected?.etag) throw wasChanged(printRemotePath(target));
  return 'as expected';
}

async function linkRemote(engine: Engine, source: RemotePath, target: RemotePath, step: Step, options: CopyOptions): Promise<Done> {
  const expected = step.target?.etag;
  const { copiesThrough } = options;
  if (expected === undefined) {
    await linkObject(engine, { from: source, to: target }, { copiesThrough });
    return {};
  }
  // A service may not heed the condition of a link, of which its specification does not speak: so there is a look before.
  if ((await lookAt(engine, target, step)) === 'done') return {};
  try {
    await linkObject(engine, { from: source, to: target }, { copiesThrough, ...conditionOf(expected) });
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    if ((await lookAt(engine, target, step)) !== 'done') throw wasChanged(printRemotePath(target));
  }
  return {};
}

async function copy(engine: Engine, step: Step, options: CopyOptions): Promise<Done> {
  const { from, to } = step;
  if (from?.kind === 'local' && to.kind === 'remote') return await putFile(engine, from.file, to.path, step, options);
  if (from?.kind === 'remote' && to.kind === 'local') return await getFile(engine, from.path, to.file, step, options);
  if (from?.kind === 'remote' && to.kind === 'remote') return await linkRemote(engine, from.path, to.path, step, options);
  throw new UsageError(`${step.rel}: nothing to copy from`);
}

async function deleteRemote(engine: Engine, path: RemotePath, expected: Expected | undefined): Promise<void> {
  try {
    const ifMatch = expected?.etag === '' ? undefined : expected?.etag;
    await tryAgain(() => engine.storage.deleteObject({ ...path, ifMatch }), engine);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return;
    if (isConditionFailed(error)) throw wasChanged(printRemotePath(path));
    throw error;
  }
}

async function removeFile(engine: Engine, { to, target }: Step): Promise<void> {
  if (to.kind === 'remote') await deleteRemote(engine, to.path, target);
  else if ((await checkLocal(engine, to.file, target)) === 'as expected') rmSync(to.file, { force: true });
}

/** Removes a directory that is empty by now; one that is not has entries that take no part, and stays. */
async function removeFolder(engine: Engine, { to }: Step): Promise<void> {
  try {
    if (to.kind === 'remote') await deleteRemote(engine, to.path, undefined);
    else rmdirSync(to.file);
  } catch (error) {
    if (error instanceof ApiError && error.code.startsWith('DirectoryNotEmpty')) return;
    if (isSystemError(error) && ['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code ?? '')) return;
    throw error;
  }
}

/** Makes a local directory, over a file when that is the one that was seen. */
async function makeLocal(engine: Engine, file: string, replacing: Expected | undefined): Promise<void> {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() === true) {
    if (replacing === undefined) throw new LocalError(`${file} is a file, not a directory`);
    await checkLocal(engine, file, replacing);
    rmSync(file);
  }
  makeLocalFolder(file);
}

/** Does a step. `folder` is the directory that it goes into, when that has to be made first. */
export async function executeStep(engine: Engine, step: Step, folder: Folder | undefined, options: CopyOptions): Promise<Done> {
  const { to } = step;
  await folder?.ready();
  if (step.action === 'copy') return await copy(engine, step, options);
  if (step.action === 'rmdir') await removeFolder(engine, step);
  else if (step.action === 'delete') await removeFile(engine, step);
  else if (to.kind === 'local') await makeLocal(engine, to.file, step.target);
  return {};
}
