import { createContradiction, UsageError } from '../../base/errors.ts';
import type { Context } from '../../cli/command.ts';
import type { Engine } from '../../transfer/engine.ts';
import { inspect } from '../../transfer/inspect.ts';
import { parentOf, printRemotePath, readTargetPath, type RemotePath } from '../../transfer/path.ts';
import { checkPrecondition, hasCondition } from '../../transfer/precondition.ts';
import { createBackup } from '../../transfer/sync/backup.ts';
import type { Source } from '../../transfer/local/source.ts';
import { isStoredAlready } from './put-once.ts';
import type { PutOptions } from '../../transfer/upload/parts.ts';

/** `--backup-dir` of `put`: a remote directory, and the root of the paths that are used below it. */
export interface PutBackup {
  readonly directory: RemotePath;
  readonly root: RemotePath;
}

function isBelow({ account, path }: RemotePath, above: RemotePath): boolean {
  return account === above.account && path.startsWith(`${above.path}/`);
}

function isSame(one: RemotePath, other: RemotePath): boolean {
  return printRemotePath(one) === printRemotePath(other);
}

/**
 * Where `put` keeps replaced objects: for one tree under the paths in it, as `sync` does, else under the names in the target directory.
 * @throws {UsageError} for a directory that is a target, inside one, or above one
 */
export function readPutBackup(
  { backupDir, noClobber }: { backupDir: string | undefined; noClobber: boolean },
  account: string,
  places: readonly { readonly target: RemotePath; readonly isTree: boolean }[],
): PutBackup | undefined {
  if (backupDir === undefined) return undefined;
  if (noClobber) throw createContradiction('--no-clobber', '--backup-dir');
  const directory = readTargetPath(backupDir, account);
  const [first] = places;
  const root = places.length === 1 && first?.isTree === true ? first.target : parentOf(first?.target ?? directory);
  if (!root) throw new UsageError('--backup-dir: the target is not an object');
  const hint = 'give a directory next to the target';
  if (isSame(directory, root)) throw new UsageError(`--backup-dir: ${backupDir} is the target`, { hint });
  for (const { target, isTree } of places) {
    if (isSame(directory, target) || (isTree && isBelow(directory, target)))
      throw new UsageError(`--backup-dir: ${backupDir} is inside a stored tree`, { hint });
    // A backup of `site/f` in the directory above `site` would itself be in `site`.
    if (isTree && isBelow(target, directory) && isBelow(root, directory))
      throw new UsageError(`--backup-dir: ${backupDir} contains the target`, { hint });
  }
  return { directory, root };
}

/** Keeps the object at a target before it is replaced. */
export interface PutKeeper {
  /** Creates the backup. @returns the options with which only that version is replaced */
  keep(source: Source, target: RemotePath, options: PutOptions): Promise<PutOptions>;
}

/** Without `--backup-dir` nothing is kept. Where the service refuses links, the bytes are copied. */
export function createPutKeeper(
  { warn, resumed }: Pick<Context, 'warn' | 'resumed'>,
  engine: Engine,
  place: PutBackup | undefined,
): PutKeeper {
  if (!place) return { keep: async (_source, _target, options) => options };
  const { root, directory } = place;
  const backup = createBackup(engine, { kind: 'remote', root }, { kind: 'remote', root: directory }, { copiesThrough: true, warn });
  return {
    keep: async (source, target, options) => {
      if (hasCondition(options)) await checkPrecondition(engine.storage, target, options);
      const found = await inspect(engine.storage, target);
      if (found?.type === 'directory') return options;
      const etag = found?.headers['etag'];
      if (etag === undefined) return { ...options, ifNoneMatch: '*' };
      // An object that a killed run stored before it could note so is not an earlier version.
      const isOwn = resumed !== undefined && source.kind === 'file' && (await isStoredAlready(engine, source, target)) !== undefined;
      if (!isOwn) await backup.keepObject(target, etag);
      return { ...options, ifMatch: etag };
    },
  };
}
