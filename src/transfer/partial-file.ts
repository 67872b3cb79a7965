import { constants, lstatSync, openSync, rmSync } from 'node:fs';
import { isSystemError } from '../errors.ts';

/** Files that are written under a name that others can foresee: in a folder that others can write to, one of theirs may stand there. */

/** Bytes of a file that this user began; 0 when there is none, or what is there is a link or somebody else's. */
export function sizeOfOwn(file: string): number {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true || stats.nlink > 1) return 0;
  return process.getuid === undefined || stats.uid === process.getuid() ? stats.size : 0;
}

const creating = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Opens a new file, in the place of whatever has its name. @returns the descriptor */
export function createOwn(file: string): number {
  try {
    return openSync(file, creating, 0o666);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EEXIST') throw error;
    rmSync(file, { force: true });
    return openSync(file, creating, 0o666);
  }
}
