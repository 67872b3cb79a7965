import { UsageError } from '../../base/errors.ts';
import { baseName, joinPath, parentOf, printRemotePath, type RemotePath } from '../path.ts';

/** Directory in an account's `stor` that holds its snapshots. */
const folderName = '.snapshots';

/** Maximum bytes in a name in the object storage. */
const longestName = 1024;

/**
 * Where the snapshots of a directory are stored. A snapshot is a manifest and a tree of links. Links that a later snapshot reuses stay in
 * the tree of the earlier one, even after that is deleted.
 */
export interface SnapshotHome {
  readonly directory: RemotePath;
  readonly root: RemotePath;
  /** One manifest per snapshot, under the snapshot's name. */
  readonly manifests: RemotePath;
  /** One marker per unfinished tree, under the tree's id. */
  readonly unfinished: RemotePath;
  /** The trees, under their ids. */
  readonly trees: RemotePath;
}

/** True if a path below a root is the directory of the snapshots, which is left out of operations on the directory above it. */
export function isSnapshotFolder(root: RemotePath, rel: string): boolean {
  return root.path === 'stor' && rel === folderName;
}

/** True if a path is inside the snapshots of its account. */
export function isInSnapshots({ account, path }: RemotePath): boolean {
  return `${path}/`.startsWith(`${locateSnapshots(account).path}/`);
}

/** The directory that holds all snapshots of an account. */
export function locateSnapshots(account: string): RemotePath {
  return { account, path: `stor/${folderName}` };
}

/** @throws {UsageError} for a directory that cannot have snapshots */
export function locateHome(directory: RemotePath): SnapshotHome {
  const all = locateSnapshots(directory.account);
  const key = encodeURIComponent(directory.path);
  if (directory.path === '' || isInSnapshots(directory))
    throw new UsageError(`${printRemotePath(directory)} cannot have snapshots: only directories below stor or public can`);
  if (key.length > longestName)
    throw new UsageError(`${printRemotePath(directory)} is too long to have snapshots`, { hint: 'snapshot a directory above it' });
  const root = joinPath(all, key);
  return {
    directory,
    root,
    manifests: joinPath(root, 'manifests'),
    unfinished: joinPath(root, 'unfinished'),
    trees: joinPath(root, 'trees'),
  };
}

/** Decodes a name in `.snapshots` into the directory whose snapshots it holds; undefined for other names. */
export function readHomeName(account: string, name: string): RemotePath | undefined {
  try {
    const path = decodeURIComponent(name);
    return path !== '' && encodeURIComponent(path) === name ? { account, path } : undefined;
  } catch {
    return undefined;
  }
}

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._:+-]{0,127}$/;

/** A directory and the name of one of its snapshots. */
export interface SnapshotName {
  readonly directory: RemotePath;
  readonly name: string;
}

/** Splits `DIR@NAME`; undefined without a name. @throws {UsageError} for an invalid snapshot name */
export function splitSnapshotName(path: RemotePath): SnapshotName | undefined {
  const last = baseName(path);
  const at = last.lastIndexOf('@');
  const above = parentOf(path);
  if (at <= 0 || above === undefined) return undefined;
  const name = last.slice(at + 1);
  if (!namePattern.test(name))
    throw new UsageError(`"${name}" cannot be the name of a snapshot`, {
      hint: 'up to 128 letters, digits, ".", "_", ":", "+" and "-"; the first is a letter or digit',
    });
  return { directory: joinPath(above, last.slice(0, at)), name };
}
