import type { Headers } from '../../api/message.ts';
import type { StorageClient } from '../../client/client.ts';
import { ApiError, UsageError } from '../../base/errors.ts';
import { lazily } from '../../base/lazily.ts';
import { inspect } from '../inspect.ts';
import { printRemotePath, quoteRemotePath, type RemotePath } from '../path.ts';

/** The directories on the way to a path that a user can make: not an account's own directory and its roots. */
function listParents(path: RemotePath): RemotePath[] {
  const parts = path.path.split('/');
  return parts.slice(1, -1).map((_, at) => ({ account: path.account, path: parts.slice(0, at + 2).join('/') }));
}

/** Whether there is a directory. @throws {UsageError} when there is an object: a directory put over it would destroy its data */
async function isThere(storage: StorageClient, path: RemotePath): Promise<boolean> {
  const found = await inspect(storage, path);
  if (found?.type !== 'object') return found !== undefined;
  throw new UsageError(`${printRemotePath(path)} is an object, not a directory`, {
    hint: `remove it first: cloud stor rm ${quoteRemotePath(path)}`,
  });
}

/** The same for who may not look: what is refused is there, since services tell everybody what is missing. */
async function isThereUnseen(storage: StorageClient, path: RemotePath): Promise<boolean> {
  try {
    return await isThere(storage, path);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    return true;
  }
}

/** The directories on the way to a path that are missing, the highest first. What is above one that is there is not asked for. */
async function findMissing(storage: StorageClient, path: RemotePath): Promise<RemotePath[]> {
  const missing = [];
  for (const parent of listParents(path).toReversed()) {
    if (await isThereUnseen(storage, parent)) break;
    missing.unshift(parent);
  }
  return missing;
}

/**
 * Makes a directory; with `parents` those on the way too. What exists is left alone: a sub-user may lack the right to it.
 * @param options headers are those of a directory that is made
 * @returns whether it was made
 */
export async function makeFolder(
  storage: StorageClient,
  path: RemotePath,
  { parents = false, headers = undefined as Headers | undefined } = {},
): Promise<boolean> {
  if (await (parents ? isThereUnseen : isThere)(storage, path)) return false;
  if (parents) for (const parent of await findMissing(storage, path)) await storage.putDirectory(parent);
  await storage.putDirectory(headers ? { ...path, headers } : path);
  return true;
}

/** A directory that is made when something is first to go into it. */
export interface Folder {
  readonly path: RemotePath;
  /** Resolves when it is there; true when it is new, so that nothing can be in it. */
  readonly ready: () => Promise<boolean>;
}

/** A directory below another one that may have to be made first. @param headers of its own, where it is made */
export function createFolder(storage: StorageClient, path: RemotePath, parent?: Folder, headers?: Headers): Folder {
  async function make(): Promise<boolean> {
    const isNew = await parent?.ready();
    if (isNew !== true) return await makeFolder(storage, path, { headers });
    await storage.putDirectory(headers ? { ...path, headers } : path);
    return true;
  }
  return { path, ready: lazily(make) };
}
