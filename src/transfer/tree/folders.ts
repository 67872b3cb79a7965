import type { Headers } from '../../api/message.ts';
import type { StorageClient } from '../../client/client.ts';
import { ApiError, UsageError } from '../../base/errors.ts';
import { lazily } from '../../base/lazily.ts';
import { inspect } from '../inspect.ts';
import { printRemotePath, quoteRemotePath, type RemotePath } from '../path.ts';
import { isConditionFailed } from '../precondition.ts';

/** The parents of a path that a user can create: not an account's own directory and its roots. */
function listParents(path: RemotePath): RemotePath[] {
  const parts = path.path.split('/');
  return parts.slice(1, -1).map((_, at) => ({ account: path.account, path: parts.slice(0, at + 2).join('/') }));
}

/** True if the directory exists. @throws {UsageError} when it is an object: a directory put over it would destroy its data */
async function isThere(storage: StorageClient, path: RemotePath): Promise<boolean> {
  const found = await inspect(storage, path);
  if (found?.type !== 'object') return found !== undefined;
  throw new UsageError(`${printRemotePath(path)} is an object, not a directory`, {
    hint: `delete it first: cloud stor rm ${quoteRemotePath(path)}`,
  });
}

/** The same without read access: a 403 means that the path exists, since services tell everybody what is missing. */
async function isThereUnseen(storage: StorageClient, path: RemotePath): Promise<boolean> {
  try {
    return await isThere(storage, path);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    return true;
  }
}

/** The missing parents of a path, the highest first. The parents of an existing directory are not checked. */
async function findMissing(storage: StorageClient, path: RemotePath): Promise<RemotePath[]> {
  const missing = [];
  for (const parent of listParents(path).toReversed()) {
    if (await isThereUnseen(storage, parent)) break;
    missing.unshift(parent);
  }
  return missing;
}

/**
 * Creates a directory where nothing is. An unconditional PUT would replace an object that another client has stored meanwhile.
 * @returns false if another client has created the directory meanwhile
 * @throws {UsageError} when the path has become an object
 */
async function createNew(storage: StorageClient, path: RemotePath, headers?: Headers): Promise<boolean> {
  try {
    await storage.putDirectory({ ...path, ...(headers && { headers }), ifNoneMatch: '*' });
    return true;
  } catch (error) {
    if (!isConditionFailed(error) || !(await isThereUnseen(storage, path))) throw error;
    return false;
  }
}

/**
 * Creates a directory; with `parents` also its missing parents. Existing directories stay unchanged: a sub-user may lack the right to
 * change them.
 * @param options `headers` are those of the new directory
 * @returns true if the directory was created
 */
export async function makeFolder(
  storage: StorageClient,
  path: RemotePath,
  { parents = false, headers = undefined as Headers | undefined } = {},
): Promise<boolean> {
  if (await (parents ? isThereUnseen : isThere)(storage, path)) return false;
  if (parents) for (const parent of await findMissing(storage, path)) await createNew(storage, parent);
  return await createNew(storage, path, headers);
}

/** A directory that is created when the first entry is to be stored in it. */
export interface Folder {
  readonly path: RemotePath;
  /** Resolves when the directory exists; true when it is new, so that it is certainly empty. */
  readonly ready: () => Promise<boolean>;
}

/** A directory below one that may have to be created first. @param headers the headers of the directory if it is created */
export function createFolder(storage: StorageClient, path: RemotePath, parent?: Folder, headers?: Headers): Folder {
  async function make(): Promise<boolean> {
    const isNew = await parent?.ready();
    if (isNew !== true) return await makeFolder(storage, path, { headers });
    return await createNew(storage, path, headers);
  }
  return { path, ready: lazily(make) };
}
