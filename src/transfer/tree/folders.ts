import type { Headers } from '../../api/message.ts';
import type { StorageClient } from '../../client/client.ts';
import { ApiError, UsageError } from '../../base/errors.ts';
import { lazily } from '../../base/lazily.ts';
import { inspect, inspectReadable, type Inspected } from '../inspect.ts';
import { assertStorable, printRemotePath, quoteRemotePath, type RemotePath } from '../path.ts';
import { isConditionFailed } from '../precondition.ts';
import { decodeStoredOfFolder, encodeHeaders } from './headers.ts';
import { withTags, type Tagging } from './keep-tags.ts';

/** The parents of a path that a user can create: not an account's own directory and its roots. */
function listParents(path: RemotePath): RemotePath[] {
  const parts = path.path.split('/');
  return parts.slice(1, -1).map((_, at) => ({ account: path.account, path: parts.slice(0, at + 2).join('/') }));
}

type Named = Inspected['type'] | 'unknown' | undefined;

/** What a path names; `unknown` if the user may not read it: services tell everybody what is missing. */
export async function inspectIfAllowed(storage: StorageClient, path: RemotePath): Promise<Named> {
  try {
    return (await inspect(storage, path))?.type;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    return 'unknown';
  }
}

/** True if something exists. @throws {UsageError} for an object: a directory put over it would destroy its data */
function isDirectoryThere(path: RemotePath, named: Named): boolean {
  if (named !== 'object') return named !== undefined;
  throw new UsageError(`${printRemotePath(path)} is an object, not a directory`, {
    hint: `delete it first: cloud stor rm ${quoteRemotePath(path)}`,
  });
}

/** The missing parents of a path, the highest first. The parents of an existing directory are not checked. */
async function findMissing(storage: StorageClient, path: RemotePath): Promise<RemotePath[]> {
  const missing = [];
  for (const parent of listParents(path).toReversed()) {
    if (isDirectoryThere(parent, await inspectIfAllowed(storage, parent))) break;
    missing.unshift(parent);
  }
  return missing;
}

/** @throws {ApiError} where the service would refuse a new entry, because its directory is missing or an object */
export async function assertParent(storage: StorageClient, path: RemotePath): Promise<void> {
  const parent = listParents(path).at(-1);
  if (parent === undefined) return;
  const type = await inspectIfAllowed(storage, parent);
  const shown = printRemotePath(parent);
  if (type === undefined) throw new ApiError(404, 'DirectoryDoesNotExist', `${shown} does not exist: create the directory first`);
  if (type === 'object') throw new ApiError(400, 'ParentNotDirectory', `${shown} is not a directory`);
}

/** How a directory is created. */
export interface Making {
  /** Also create its missing parents. */
  readonly parents?: boolean;
  /** Headers of the new directory. */
  readonly headers?: Headers | undefined;
  /** A directory whose headers the new one gets, if the caller may read it. */
  readonly like?: RemotePath | undefined;
  /** Finds the role tags of a new directory, when its parent exists. */
  readonly tag?: ((path: RemotePath) => Promise<Tagging | undefined>) | undefined;
  /** Only check, for a dry run: nothing is created. */
  readonly dryRun?: boolean;
}

/**
 * Creates a directory where nothing is. An unconditional PUT would replace an object that another client has stored meanwhile.
 * @returns false if another client has created the directory meanwhile
 * @throws {UsageError} when the path has become an object
 */
async function createNew(
  storage: StorageClient,
  path: RemotePath,
  { tag, like, ...options }: Pick<Making, 'headers' | 'like' | 'tag'>,
): Promise<boolean> {
  const tagging = await tag?.(path);
  const headers = like ? encodeHeaders(decodeStoredOfFolder((await inspectReadable(storage, like))?.headers ?? {})) : options.headers;
  try {
    await withTags(tagging, (roleTag) => storage.putDirectory({ ...path, ...(headers && { headers }), roleTag, ifNoneMatch: '*' }));
    return true;
  } catch (error) {
    if (!isConditionFailed(error) || !isDirectoryThere(path, await inspectIfAllowed(storage, path))) throw error;
    return false;
  }
}

/**
 * Creates a directory. Existing directories stay unchanged: a sub-user may lack the right to change them.
 * @returns true if the directory was created or, in a dry run, would be
 */
export async function makeFolder(storage: StorageClient, path: RemotePath, options: Making = {}): Promise<boolean> {
  const { parents = false, tag, dryRun = false } = options;
  const named = parents ? await inspectIfAllowed(storage, path) : (await inspect(storage, path))?.type;
  if (isDirectoryThere(path, named)) return false;
  assertStorable(path);
  const missing = parents ? await findMissing(storage, path) : [];
  if (dryRun) {
    if (!parents) await assertParent(storage, path);
    return true;
  }
  for (const parent of missing) await createNew(storage, parent, { tag });
  return await createNew(storage, path, options);
}

/** A directory that is created when the first entry is to be stored in it. */
export interface Folder {
  readonly path: RemotePath;
  /** Resolves when the directory exists; true when it is new, so that it is certainly empty. */
  readonly ready: () => Promise<boolean>;
}

/** A directory below one that may have to be created first. */
export function createFolder(storage: StorageClient, path: RemotePath, parent?: Folder, making: Making = {}): Folder {
  async function make(): Promise<boolean> {
    const isNew = await parent?.ready();
    if (isNew !== true) return await makeFolder(storage, path, making);
    return making.dryRun === true || (await createNew(storage, path, making));
  }
  return { path, ready: lazily(make) };
}
