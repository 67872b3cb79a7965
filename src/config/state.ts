import { existsSync, readdirSync } from 'node:fs';
import { isSystemError, UsageError } from '../base/errors.ts';
import { withLock } from '../base/lock.ts';
import { findFolderProblem, parentOf, removeQuietly } from '../base/private-files.ts';
import { readJsonFile, writeFileAtomically } from './files.ts';

/** Learned data and unfinished work, one JSON object for each name (`uploads/4f0c...`). */
export interface State {
  /** Undefined if there is no such object or it cannot be read. */
  read(name: string): Record<string, unknown> | undefined;
  write(name: string, value: object): void;
  /** Changes an object under a lock. */
  update(name: string, change: (value: Record<string, unknown>) => object): void;
  remove(name: string): void;
  /** Names of the objects in a folder: `uploads/4f0c...`. */
  list(folder: string): string[];
  /** Path of a file that is not JSON, whose name has its extension; undefined if the state folder cannot be used. */
  locate(name: string): string | undefined;
}

/**
 * Opens the state of this user. If others could have written it, nothing is read or written.
 * @param reportUnused called with the reason, at each use
 */
export function openState(top: string, reportUnused: (problem: string) => void): State {
  function locate(name: string): string | undefined {
    const path = `${top}/${name}`;
    const folder = parentOf(path);
    const problem = findFolderProblem(folder === top ? [top] : [top, folder]);
    if (problem === undefined) return path;
    reportUnused(problem);
    return undefined;
  }
  const locateJson = (name: string): string | undefined => locate(`${name}.json`);

  function readFile(path: string | undefined): Record<string, unknown> | undefined {
    try {
      return path === undefined ? undefined : readJsonFile(path, 'private');
    } catch (error) {
      if (error instanceof UsageError || isSystemError(error)) return undefined;
      throw error;
    }
  }
  function write(path: string | undefined, value: object): void {
    if (path !== undefined) writeFileAtomically(path, `${JSON.stringify(value)}\n`);
  }

  return {
    read: (name) => readFile(locateJson(name)),
    write: (name, value) => write(locateJson(name), value),
    update: (name, change) => {
      const path = locateJson(name);
      if (path !== undefined) withLock(`${path}.lock`, () => write(path, change(readFile(path) ?? {})));
    },
    remove: (name) => {
      const path = locateJson(name);
      // If the deletion fails, the next run finds the work already done.
      if (path !== undefined) removeQuietly(path);
    },
    list: (folder) => {
      const path = locate(`${folder}/x`);
      if (path === undefined || !existsSync(parentOf(path))) return [];
      return readdirSync(parentOf(path)).flatMap((name) => (name.endsWith('.json') ? [`${folder}/${name.slice(0, -'.json'.length)}`] : []));
    },
    locate,
  };
}
