import type { StorageClient } from '../../client/client.ts';
import { ApiError } from '../../base/errors.ts';
import { setNewest } from '../../base/newest.ts';
import { splitList } from '../../base/split-list.ts';
import { inspectReadable } from '../inspect.ts';
import { parentOf, printRemotePath, type RemotePath } from '../path.ts';

/** Role tags that a request sets. Without them, a service tags a new entry like its directory. */
export interface Tagging {
  /** Role names, separated by commas; empty for none. */
  readonly roleTag: string;
  /** Called when the entry was written without the tags, because the caller may not set them. */
  readonly onRefused: () => void;
}

/** Gives new names of objects and directories the role tags of their sources. */
export interface TagKeeper {
  /**
   * The tags to send for a new name; undefined if the service sets the same without a request for them.
   * @param mayExist true if an entry may exist at the target: a service keeps its tags
   */
  choose(from: RemotePath, to: RemotePath, mayExist?: boolean): Promise<Tagging | undefined>;
}

/** Number of directories whose tags are remembered: entries arrive directory by directory. */
const rememberedDirectories = 100;

/** The role tags of an entry, sorted; undefined if it does not exist or the caller may not read it. */
async function readTags(storage: StorageClient, path: RemotePath): Promise<string | undefined> {
  const found = await inspectReadable(storage, path);
  return found && splitList(found.headers['role-tag']).toSorted().join(',');
}

/** @param warn called for each entry that does not get the tags of its source */
export function createTagKeeper(storage: StorageClient, warn: (message: string) => void): TagKeeper {
  const directories = new Map<string, Promise<string | undefined>>();
  /** The tags that a new entry of a directory gets. */
  async function readInherited(path: RemotePath): Promise<string | undefined> {
    const parent = parentOf(path);
    if (parent === undefined) return undefined;
    const key = printRemotePath(parent);
    const tags = directories.get(key) ?? readTags(storage, parent);
    setNewest(directories, key, tags, rememberedDirectories);
    tags.catch(() => void directories.delete(key));
    return await tags;
  }
  return {
    choose: async (from, to, mayExist = false) => {
      // Accounts have roles of their own.
      if (from.account !== to.account) return undefined;
      const roleTag = await readTags(storage, from);
      if (roleTag === undefined) return undefined;
      const usual = (mayExist ? await readTags(storage, to) : undefined) ?? (await readInherited(to));
      if (roleTag === usual) return undefined;
      const path = printRemotePath(to);
      const tags = roleTag === '' ? 'none' : roleTag;
      const message = `${path} does not have the role tags of ${printRemotePath(from)} (${tags}): you may not set them`;
      return { roleTag, onRefused: () => warn(message) };
    },
  };
}

/** Runs a request that sets role tags; runs it again without them if the caller may not set them. */
export async function withTags<T>(tagging: Tagging | undefined, work: (roleTag?: string) => Promise<T>): Promise<T> {
  if (tagging === undefined) return await work();
  try {
    return await work(tagging.roleTag);
  } catch (error) {
    const isRefused = error instanceof ApiError && (error.status === 403 || error.code === 'InvalidRoleTag');
    if (!isRefused) throw error;
    const done = await work();
    tagging.onRefused();
    return done;
  }
}
