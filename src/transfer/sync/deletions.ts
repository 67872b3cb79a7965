import { lstatSync, rmdirSync, unlinkSync } from 'node:fs';
import { ApiError, unlessNoEntry, isAbsence, isSystemError, unlessAbsent } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import { inspect } from '../inspect.ts';
import { printRemotePath } from '../path.ts';
import { removeEntry } from '../tree/remove.ts';
import { createChangedError, type Location, type Step } from './steps.ts';

/** Removes a file, if it still exists. `rmSync` would report "not a directory" for a file that the system protects. */
export function removeLocal(file: string): void {
  unlessNoEntry(() => unlinkSync(file));
}

/** True if a file or an object has taken the place of a directory. */
async function isReplaced({ storage }: Engine, place: Location): Promise<boolean> {
  if (place.kind === 'remote') return (await inspect(storage, place.path))?.type === 'object';
  return unlessAbsent(() => lstatSync(place.file))?.isDirectory() === false;
}

/**
 * Removes a directory if it is empty; otherwise it has entries that were left out, and stays. A file in its place stays, too: DELETE has
 * no condition for the type. What replaces the directory (reason `type`) expects what it finds; elsewhere a file is a change.
 * @returns false if the directory stays
 */
export async function removeFolder(engine: Engine, { to, reason }: Step): Promise<boolean> {
  if (await isReplaced(engine, to)) {
    if (reason === 'type') return true;
    throw createChangedError(to.kind === 'remote' ? printRemotePath(to.path) : to.file);
  }
  try {
    if (to.kind === 'remote') await removeEntry(engine, to.path);
    else rmdirSync(to.file);
    return true;
  } catch (error) {
    if (isAbsence(error)) return true;
    if (error instanceof ApiError && error.code.startsWith('DirectoryNotEmpty')) return false;
    if (isSystemError(error) && ['ENOTEMPTY', 'EEXIST'].includes(error.code ?? '')) return false;
    throw error;
  }
}
