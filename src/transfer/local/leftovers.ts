import { lstatSync, readdirSync, rmSync, type Dirent } from 'node:fs';
import { dirname, join } from 'node:path';
import { isSystemError } from '../../base/errors.ts';
import { manifestName } from '../manifest-name.ts';
import { isOwnUnfinished, sizeOfOwn, unfinishedName } from './partial-file.ts';

/** Manifests that are being written have this after their name. */
const unfinishedManifest = new RegExp(`^${manifestName.replaceAll('.', '\\.')}\\.[0-9a-f-]{36}$`);

function list(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return [];
  }
}

/** Whose left-overs are removed. */
export interface Left {
  /** Whether a process that is gone was one of the work. */
  readonly isMine: (pid: number) => boolean;
  /** Milliseconds since the epoch after which nobody of the work wrote anything. */
  readonly until: number;
}

function isLeftManifest(folder: string, name: string, until: number): boolean {
  if (!unfinishedManifest.test(name)) return false;
  const file = join(folder, name);
  const stats = lstatSync(file, { throwIfNoEntry: false });
  return sizeOfOwn(file) > 0 && stats !== undefined && stats.mtimeMs <= until;
}

/**
 * Removes what processes that are gone left of files that they were writing.
 * @param target directory, which is searched with everything below it, or file, beside which they are
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
