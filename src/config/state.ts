import { existsSync, readdirSync } from 'node:fs';
import { isSystemError, UsageError } from '../base/errors.ts';
import { findFolderProblem, parentOf, removeQuietly } from '../base/private-files.ts';
import { lockWhile, readJsonFile, writeFileAtomically } from './files.ts';

/** What was learnt or left unfinished, one JSON object under each name (`uploads/4f0c...`). */
export interface State {
  /** Undefined when there is nothing, or what is there cannot be read. */
  read(name: string): Record<string, unknown> | undefined;
  write(name: string, value: object): void;
  /** Replaces an object while no other process does. */
  update(name: string, change: (value: Record<string, unknown>) => object): void;
  remove(name: string): void;
  /** Names of the objects of a folder: `uploads/4f0c...`. */
  list(folder: string): string[];
  /** Path of a file of another form, whose name has its extension; undefined when the state folder is not used. */
  locate(name: string): string | undefined;
}

/** Opens the state of this user. Where others could have written it, none is read and none is kept. @param refuse told why, before each use */
export function openState(top: string, refuse: (problem: string) => void): State {
  function locate(name: string): string | undefined {
    const path = `${top}/${name}`;
    const folder = parentOf(path);
    const problem = findFolderProblem(folder === top ? [top] : [top, folder]);
    if (problem === undefined) return path;
    refuse(problem);
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
      if (path !== undefined) lockWhile(`${path}.lock`, () => write(path, change(readFile(path) ?? {})));
    },
    remove: (name) => {
      const path = locateJson(name);
      // What cannot be forgotten is found to be done by the next run.
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
