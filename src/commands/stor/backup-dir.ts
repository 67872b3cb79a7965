import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { text } from '../../cli/parameters.ts';
import { isSystemError, UsageError } from '../../base/errors.ts';
import { assertStorable } from '../../transfer/path.ts';
import type { Filter, Side } from '../../transfer/sync/tree.ts';
import { readSide, type Sides } from './sides.ts';

/** An option of commands that replace and delete in trees. */
export const backupDirOption = text('Move replaced and deleted files to DIR', {
  placeholder: 'DIR',
  values: 'file-or-path',
});

/** Resolves the symbolic links in a path, even if its last components do not exist yet. */
function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isSystemError(error) || dirname(path) === path) throw error;
    return join(resolveLinks(dirname(path)), basename(path));
  }
}

/** The path of a directory relative to the root of a side; undefined when it is elsewhere, empty for the root itself. */
function findBelow(side: Side, directory: Side): string | undefined {
  if (side.kind === 'local' && directory.kind === 'local') {
    const rel = relative(resolveLinks(side.root), resolveLinks(directory.root));
    return rel === '..' || rel.startsWith('../') ? undefined : rel;
  }
  if (side.kind !== 'remote' || directory.kind !== 'remote') return undefined;
  if (side.profile !== directory.profile || side.root.account !== directory.root.account) return undefined;
  if (side.root.path === directory.root.path) return '';
  return directory.root.path.startsWith(`${side.root.path}/`) ? directory.root.path.slice(side.root.path.length + 1) : undefined;
}

/** True if a directory, or one above it, is left out of a tree. */
function isLeftOut(filter: Filter, rel: string): boolean {
  const parts = rel.split('/');
  return rel !== '' && parts.some((_, at) => filter.prunes(parts.slice(0, at + 1).join('/')));
}

/**
 * The directory for backups of what is replaced or deleted.
 * @throws {UsageError} for a directory on the other side, and for one inside a synced tree: it would be copied or deleted itself
 */
export function readBackupDir(sides: Sides, word: string | undefined, filter: Filter): Side | undefined {
  if (word === undefined) return undefined;
  const directory = readSide(sides, word);
  if (directory.kind === 'remote') assertStorable(directory.root);
  const { from, to } = sides;
  if (directory.kind !== to.kind || (directory.kind === 'remote' && to.kind === 'remote' && directory.profile !== to.profile))
    throw new UsageError(`--backup-dir: ${word} is not on the same side as the target`, {
      hint: to.kind === 'remote' ? 'give a directory of the same service, such as stor:old' : 'give a directory of this machine',
    });
  for (const side of [to, from]) {
    const rel = findBelow(side, directory);
    if (rel !== undefined && !isLeftOut(filter, rel))
      throw new UsageError(`--backup-dir: ${word} is inside a synced directory`, {
        hint: rel === '' ? 'give a directory next to it' : `exclude it: --exclude '/${rel}/', or give a directory next to it`,
      });
  }
  // A backup of `site/f` in the directory above `site` would itself be in `site`.
  if (findBelow(directory, to) !== undefined)
    throw new UsageError(`--backup-dir: ${word} contains the target`, { hint: 'give a directory next to the target' });
  return directory;
}
