import { existsSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Headers } from '../../api/message.ts';
import { LocalError, unlessAbsent, UsageError } from '../../base/errors.ts';
import { lazily } from '../../base/lazily.ts';
import type { Engine } from '../engine.ts';
import { fetchFile } from '../download/fetch-file.ts';
import { readState, type FileState } from '../local/file-state.ts';
import { createFolder, type Folder, type Making } from '../tree/folders.ts';
import { inspect } from '../inspect.ts';
import type { TagKeeper } from '../tree/keep-tags.ts';
import { linkObject } from '../tree/link.ts';
import { makeLocalFolder, makeWay } from '../local/folders.ts';
import { hashFile } from '../local/walk.ts';
import type { Manifest } from '../tree-manifest.ts';
import { assertSpelling, claimFolder, claimWay } from '../local/one-file.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { isConditionFailed } from '../precondition.ts';
import { openSource, type FileSource } from '../local/source.ts';
import type { PutOptions } from '../upload/parts.ts';
import { uploadObject } from '../upload/upload.ts';
import { checkPlace } from '../local/write-target.ts';
import type { Backup } from './backup.ts';
import { conditionOf, type Between } from './between.ts';
import { keepHeaders, type HeaderKeeper } from './keep-headers.ts';
import { describeKnown, type Known } from './memory.ts';
import { decodeStored } from '../tree/headers.ts';
import { removeEntry } from '../tree/remove.ts';
import { removeFolder, removeLocal } from './deletions.ts';
import { copyProperties } from './properties.ts';
import { createChangedError, isExpected, type Expected, type Step } from './steps.ts';

/** How files are stored as objects and objects are written to files. */
export interface CopyOptions {
  /** Returns the headers of the object that a file is stored as. */
  readonly describe: (source: FileSource, target: RemotePath) => Promise<Headers>;
  readonly copies?: number | undefined;
  readonly modes: boolean;
  /** Blocks of zeros become holes in files. */
  readonly sparse: boolean;
  /** A replaced object gets the headers of a new one instead of keeping its own. */
  readonly resetsHeaders: boolean;
  /** Large files may be sent in parts, which are committed without a condition. */
  readonly mayUseParts: boolean;
  /** Manifest of the stored tree: properties of objects that files cannot hold. */
  readonly manifest?: Manifest | undefined;
  /** Writes properties of objects that files cannot hold to the manifest of the local tree. */
  readonly keeper?: HeaderKeeper | undefined;
  /** Stores files; `uploadObject` when absent. */
  readonly store?: typeof uploadObject | undefined;
  /** Called before each step. @throws when what the step would change has to stay */
  readonly guard?: ((step: Step) => Promise<void>) | undefined;
  /** Keeps files and objects that are replaced or deleted. */
  readonly backup?: Backup | undefined;
  /** Copies between two services; within one service objects are linked. */
  readonly between?: Between | undefined;
  /** Objects of another account are copied through this machine when links are refused. */
  readonly copiesThrough: boolean;
  /** Gives new links the role tags of their sources; absent: they get those of their directory. */
  readonly tags?: TagKeeper | undefined;
}

/** Directories that steps store into, created when the first step needs them. Steps arrive in the order of `comparePaths`. */
export interface Folders {
  /** The directory that a path is stored in; undefined when it existed before. */
  find(path: RemotePath): Folder | undefined;
  add(path: RemotePath, replacing: Expected | undefined): Folder;
}

/** Keeps the directories from the root down to the latest one. */
export function createFolders(engine: Engine, backup?: Backup, making?: Making): Folders {
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
      const plain = createFolder(engine.storage, path, parent, making);
      const folder =
        replacing?.etag === undefined || replacing.etag === ''
          ? plain
          : { path, ready: lazily(async () => replaceObject(engine, { path, etag: replacing.etag ?? '', backup }, plain)) };
      stack.push(folder);
      return folder;
    },
  };
}

/** Replaces an object by a directory. The object is deleted only if it still has the etag that was seen. */
async function replaceObject(
  { storage }: Engine,
  { path, etag, backup }: { path: RemotePath; etag: string; backup: Backup | undefined },
  folder: Folder,
): Promise<boolean> {
  await backup?.keepObject(path, etag);
  try {
    await storage.deleteObject({ ...path, ifMatch: etag });
  } catch (error) {
    // An earlier run of the plan may have made the directory.
    if (!isConditionFailed(error) || (await inspect(storage, path))?.type !== 'directory') throw error;
  }
  return await folder.ready();
}

/** The result of a step. */
export interface Done {
  /** What the step learnt about the object and its file. */
  readonly known?: Omit<Known, 'rel'> | undefined;
  /** True for a directory that stays because it is not empty. */
  readonly stays?: boolean;
}

/** The etag of an object if it has the content of a file; undefined otherwise. */
async function holdsFile(
  { storage, signal }: Engine,
  path: RemotePath,
  { file, size }: Pick<FileSource, 'file' | 'size'>,
): Promise<string | undefined> {
  const { headers } = (await inspect(storage, path)) ?? {};
  if (headers === undefined || Number(headers['content-length']) !== size || headers['content-md5'] === undefined) return undefined;
  return headers['content-md5'] === (await hashFile(file, signal)) ? (headers['etag'] ?? '') : undefined;
}

/** Headers and copies of an object: those of the object that it replaces, with time and mode of the file. */
async function describeReplacement(engine: Engine, source: FileSource, target: RemotePath, etag: string | undefined, options: CopyOptions) {
  const { copies } = options;
  const headers = await options.describe(source, target);
  const old = etag === undefined || etag === '' || options.resetsHeaders ? undefined : (await inspect(engine.storage, target))?.headers;
  if (old?.['etag'] !== etag || old === undefined) return { headers, copies };
  const { 'content-type': _, ...properties } = headers;
  return { headers: { ...headers, ...decodeStored(old), ...properties }, copies: copies ?? readCopies(old['durability-level']) };
}

function readCopies(value: string | undefined): number | undefined {
  return value !== undefined && /^[1-6]$/.test(value) ? Number(value) : undefined;
}

async function putFile(engine: Engine, file: string, target: RemotePath, step: Step, options: CopyOptions): Promise<Done> {
  const source = openSource(file, file);
  if (source.kind !== 'file') throw new UsageError(`${file} is not a regular file`);
  const { mtime, ctime } = source;
  const { target: expected } = step;
  try {
    const put: PutOptions = {
      ...(await describeReplacement(engine, source, target, expected?.etag, options)),
      hasParent: true,
      mayUseParts: options.mayUseParts,
      ...conditionOf(expected?.etag),
    };
    const kept = options.manifest?.find(file);
    const { etag, md5 } =
      kept && options.manifest
        ? await options.manifest.store(engine, source, target, kept, { ...put, copies: options.copies }, {})
        : await (options.store ?? uploadObject)(engine, source, target, put);
    return { known: { etag, mtime, ctime, ...(md5 !== '' && { md5 }), ...(options.modes && { mode: source.mode }) } };
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    // It may be stored already: by an earlier run of the plan, or by an attempt whose response was lost.
    const etag = await holdsFile(engine, target, source);
    if (etag === undefined) throw createChangedError(printRemotePath(target));
    return { known: { etag, mtime, ctime } };
  }
}

/** The state of a local file that may be replaced; `done` when it already has the content to be written. */
type Replaceable = FileState | 'nothing' | 'anything' | 'done';

/** Compares a local file with its expected state. @throws {LocalError} when it has neither that state nor the content to be written */
async function checkLocal(engine: Engine, file: string, expected: Expected | undefined, source?: RemotePath): Promise<Replaceable> {
  if (expected?.size === undefined) return 'anything';
  const stats = unlessAbsent(() => statSync(file, { bigint: true, throwIfNoEntry: false }));
  if (stats === undefined) return source || expected.size === -1 ? 'nothing' : 'done';
  const state = readState(stats);
  if (isExpected(state, expected)) return state;
  if (source && stats.isFile() && (await holdsFile(engine, source, { file, size: state.size }))) return 'done';
  throw createChangedError(file);
}

async function getFile(engine: Engine, source: RemotePath, file: string, step: Step, options: CopyOptions): Promise<Done> {
  checkPlace(file);
  // Nothing was listed under this name: an existing file must have another spelling.
  if (step.target?.size === -1 && existsSync(file)) assertSpelling(dirname(file), basename(file));
  const replaces = await checkLocal(engine, file, step.target, source);
  if (replaces === 'done') {
    await keepHeaders(engine, source, file, step.source?.etag, options.keeper);
    return {};
  }
  makeWay(file, step.rel);
  claimWay(engine.storage, file, step.rel);
  const { modes, sparse } = options;
  let headers: Headers = {};
  const onHeaders = (received: Headers): void => void (headers = received);
  const fetched = await fetchFile(engine, source, file, {
    size: step.size,
    etag: step.source?.etag,
    modes,
    sparse,
    inTree: true,
    rel: step.rel,
    replaces,
    onHeaders,
  });
  options.keeper?.add(file, headers);
  return { known: describeKnown(fetched, modes) };
}

/** Compares the target of a link with its expected state. @throws {LocalError} when it has neither that etag nor that of the source */
async function lookAt(engine: Engine, target: RemotePath, { source, target: expected }: Step): Promise<'as expected' | 'done'> {
  const there = await inspect(engine.storage, target);
  const etag = there?.headers['etag'] ?? '';
  if (etag !== '' && etag === source?.etag) return 'done';
  if (there?.type === 'directory' || etag !== expected?.etag) throw createChangedError(printRemotePath(target));
  return 'as expected';
}

async function linkRemote(engine: Engine, source: RemotePath, target: RemotePath, step: Step, options: CopyOptions): Promise<Done> {
  const expected = step.target?.etag;
  const { copiesThrough } = options;
  if (expected === undefined) {
    await linkObject(engine, { from: source, to: target }, { copiesThrough });
    return {};
  }
  // The specification does not define conditions for links, so a service may ignore them: the target is checked directly before.
  if ((await lookAt(engine, target, step)) === 'done') return {};
  try {
    const tagging = expected === '' ? await options.tags?.choose(source, target) : undefined;
    await linkObject(engine, { from: source, to: target }, { copiesThrough, tagging, isChecked: true, ...conditionOf(expected) });
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    if ((await lookAt(engine, target, step)) !== 'done') throw createChangedError(printRemotePath(target));
  }
  return {};
}

async function copy(engine: Engine, step: Step, options: CopyOptions): Promise<Done> {
  const { from, to } = step;
  if (from?.kind === 'local' && to.kind === 'remote') return await putFile(engine, from.file, to.path, step, options);
  if (from?.kind === 'remote' && to.kind === 'local') return await getFile(engine, from.path, to.file, step, options);
  if (from?.kind === 'remote' && to.kind === 'remote' && options.between) return await options.between.copy(step, from.path, to.path);
  if (from?.kind === 'remote' && to.kind === 'remote') return await linkRemote(engine, from.path, to.path, step, options);
  throw new UsageError(`${step.rel}: nothing to copy from`);
}

async function removeFile(engine: Engine, { to, target }: Step): Promise<void> {
  if (to.kind === 'remote') await removeEntry(engine, to.path, target?.etag);
  else if ((await checkLocal(engine, to.file, target)) !== 'done') removeLocal(to.file);
}

/** Creates a local directory, replacing a file if that has its expected state. */
async function makeLocal(engine: Engine, file: string, replacing: Expected | undefined): Promise<void> {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() === true) {
    if (replacing === undefined) throw new LocalError(`${file} is a file, not a directory`);
    await checkLocal(engine, file, replacing);
    removeLocal(file);
  }
  makeLocalFolder(file);
  claimFolder(engine.storage, file);
}

/** Executes a step. `folder` is the directory that the step stores into, if it has to be created first. */
export async function executeStep(engine: Engine, planned: Step, folder: Folder | undefined, options: CopyOptions): Promise<Done> {
  const { to } = planned;
  await options.guard?.(planned);
  await folder?.ready();
  const step = (await options.backup?.keep(planned)) ?? planned;
  if (step.action === 'copy') return await copy(engine, step, options);
  if (step.action === 'headers') await copyProperties(engine, step, options.between?.source);
  else if (step.action === 'rmdir') return { stays: !(await removeFolder(engine, step)) };
  else if (step.action === 'delete') await removeFile(engine, step);
  else if (to.kind === 'local') await makeLocal(engine, to.file, step.target);
  return {};
}
