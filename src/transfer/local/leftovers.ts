import { lstatSync, readdirSync, rmSync, type Dirent } from 'node:fs';
import { dirname, join } from 'node:path';
import { isSystemError } from '../../base/errors.ts';
import { manifestName } from '../manifest-name.ts';
import { isOwnUnfinished, sizeOfOwn } from './partial-file.ts';
import { unfinishedName } from './unfinished-name.ts';

/** Names of temporary files of manifests. */
const unfinishedManifest = new RegExp(`^${manifestName.replaceAll('.', '\\.')}\\.[0-9a-f-]{36}$`);

function list(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return [];
  }
}

/** Selects the leftovers that are removed. */
export interface Left {
  /** True if a dead process took part in the operation. */
  readonly isMine: (pid: number) => boolean;
  /** Milliseconds since the epoch after which no process of the operation wrote anything. */
  readonly until: number;
}

function isLeftManifest(folder: string, name: string, until: number): boolean {
  if (!unfinishedManifest.test(name)) return false;
  const file = join(folder, name);
  const stats = lstatSync(file, { throwIfNoEntry: false });
  return sizeOfOwn(file) > 0 && stats !== undefined && stats.mtimeMs <= until;
}

/**
 * Removes the unfinished files that dead processes left.
 * @param target a directory, which is searched recursively, or a file, whose directory is searched
 */
export function removeUnfinished(target: string, left: Left): void {
  const isFolder = lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true;
  const folders = [isFolder ? target : dirname(target)];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of list(folder)) {
      const file = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (isFolder) folders.push(file);
        continue;
      }
      const pid = unfinishedName.exec(entry.name)?.[2];
      const isPart = pid !== undefined && left.isMine(Number(pid)) && isOwnUnfinished(file);
      if (isPart || isLeftManifest(folder, entry.name, left.until)) rmSync(file, { force: true });
    }
  }
}
