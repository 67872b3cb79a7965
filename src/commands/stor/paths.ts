import type { StorageClient } from '../../client/client.ts';
import { inspect, type Inspected } from '../../transfer/inspect.ts';
import { isConditionFailed } from '../../transfer/precondition.ts';
import { makeFolder } from '../../transfer/tree/folders.ts';
import { withHint } from '../../base/error-copies.ts';
import { ApiError } from '../../base/errors.ts';
import { isRootDirectory, parentOf, printRemotePath, quoteRemotePath, type RemotePath } from '../../transfer/path.ts';

/** The error for a path that does not exist. */
export function missing(path: RemotePath): ApiError {
  return new ApiError(404, 'ResourceNotFound', `${printRemotePath(path)} does not exist`, {
    hint: `cloud stor ls ${quoteRemotePath(parentOf(path) ?? path)}`,
  });
}

/** What a path names. @throws {ApiError} when nothing exists there */
export async function requireThere(storage: StorageClient, path: RemotePath): Promise<Inspected> {
  const found = await inspect(storage, path);
  if (found) return found;
  throw missing(path);
}

/** What a path to list names. The root of an account always exists. @throws {ApiError} when nothing exists there */
export async function inspectRoot(storage: StorageClient, path: RemotePath): Promise<Inspected> {
  return path.path === '' ? { type: 'directory', headers: {} } : await requireThere(storage, path);
}

/** Creates a directory and its parents; a dry run only checks. @returns false for a root of the account, which always exists */
export async function makeWithParents(storage: StorageClient, folder: RemotePath | undefined, dryRun = false): Promise<boolean> {
  if (folder === undefined || isRootDirectory(folder)) return false;
  await makeFolder(storage, folder, { parents: true, dryRun });
  return true;
}

/** Adds the command that creates a missing parent to its error. */
export async function explainParent<T>(work: () => Promise<T>, line: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'DirectoryDoesNotExist') throw error;
    throw withHint(error, `to create the parent directories: ${line}`);
  }
}

/** Runs work; undefined when --no-clobber leaves an existing object unchanged. */
export async function leaveExisting<T>(noClobber: boolean, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!noClobber || !isConditionFailed(error)) throw error;
    return undefined;
  }
}

/** Adds the command that shows the etag to the error of a failed `--if-match`. */
export async function explainCondition<T>(work: () => Promise<T>, path: RemotePath): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 412) throw error;
    throw withHint(
      error,
      `to see its etag: cloud stor stat ${quoteRemotePath(path)}`,
      `${printRemotePath(path)} does not match the conditions`,
    );
  }
}
