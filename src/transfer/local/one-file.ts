import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { StorageClient } from '../../client/client.ts';
import { isSystemError, LocalError } from '../../base/errors.ts';

/**
 * Some file systems take two names for one: README and readme, or an accent as a letter of its own and as a part of one. Of two objects with
 * such names the second is refused, and nothing is deleted because of it.
 */

/** What a run has made so far, by device and inode. */
interface Made {
  readonly files: Map<number, Set<number>>;
  readonly folders: Map<string, string>;
}

const runs = new WeakMap<StorageClient, Made>();

function findMade(storage: StorageClient): Made {
  const made = runs.get(storage) ?? { files: new Map(), folders: new Map() };
  runs.set(storage, made);
  return made;
}

/** Errors of a path that nothing can have, beside that of one which nothing has. */
const impossible = new Set(['ENOTDIR', 'ENAMETOOLONG']);

/** Undefined for a path that does not exist, also when a file is in the place of one of its directories, or the name is too long. */
function inspect(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error) && impossible.has(error.code ?? '')) return undefined;
    throw error;
  }
}

/** The name that a directory has for a file that is there under another spelling; undefined when it has the name itself. */
export function findSpelling(file: string): string | undefined {
  const names = readdirSync(dirname(file));
  if (names.includes(basename(file))) return undefined;
  const { dev, ino } = inspect(file) ?? {};
  return names.find((name) => {
    const stats = inspect(join(dirname(file), name));
    return stats !== undefined && stats.dev === dev && stats.ino === ino;
  });
}

/** The error of two names that are one file on this file system. */
export function createFoldedError(file: string, other: string): LocalError {
  return new LocalError(`${file} and ${other} are one file on this file system: left alone`, {
    hint: 'rename one of the objects, or use a file system that tells the names apart',
  });
}

/**
 * @param verified directories that have their own names, for the next call
 * @throws {LocalError} when a path, or a directory on its way below the root, is there under another name
 */
export function assertSpelling(root: string, rel: string, verified?: Set<string>): void {
  const parts = rel.split('/');
  for (const [at] of parts.entries()) {
    const part = join(root, ...parts.slice(0, at + 1));
    if (verified?.has(part) === true) continue;
    if (inspect(part) === undefined) return;
    const other = findSpelling(part);
    if (other !== undefined) throw createFoldedError(part, join(dirname(part), other));
    if (at < parts.length - 1) verified?.add(part);
  }
}

/** Notes that this run makes a file, before it gets its name. @param file its temporary name @returns what it is */
export function noteMade(storage: StorageClient, file: string): Stats | undefined {
  const made = inspect(file);
  if (made === undefined) return undefined;
  const { files } = findMade(storage);
  files.set(made.dev, (files.get(made.dev) ?? new Set()).add(made.ino));
  return made;
}

/** @throws {LocalError} when a file that is about to get its name is there already, under another name that this run made */
export function assertApart(storage: StorageClient, file: string): void {
  const stats = inspect(file);
  if (stats === undefined || findMade(storage).files.get(stats.dev)?.has(stats.ino) !== true) return;
  const other = findSpelling(file);
  if (other !== undefined) throw createFoldedError(file, join(dirname(file), other));
}

/** Whether a directory may have another name: one of the usual other spellings leads to the same. */
function mayFold(folder: string, { dev, ino }: Stats): boolean {
  const name = basename(folder);
  const spellings = [name.toUpperCase(), name.toLowerCase(), name.normalize('NFC'), name.normalize('NFD')];
  return spellings.some((spelling) => {
    const stats = spelling === name ? undefined : inspect(join(dirname(folder), spelling));
    return stats?.dev === dev && stats.ino === ino;
  });
}

/** Notes a directory of a tree that is written to. @throws {LocalError} when it is that of another name too */
export function claimFolder(storage: StorageClient, folder: string): void {
  const { folders } = findMade(storage);
  const stats = inspect(folder);
  if (stats === undefined) return;
  const key = `${stats.dev}:${stats.ino}`;
  const known = folders.get(key);
  if (known === folder) return;
  const other = known !== undefined || mayFold(folder, stats) ? findSpelling(folder) : undefined;
  if (other !== undefined) throw createFoldedError(folder, known ?? join(dirname(folder), other));
  folders.set(key, folder);
}

/** Notes the directories on the way to a file of a tree. @throws {LocalError} when one is that of another name too */
export function claimWay(storage: StorageClient, file: string, rel: string): void {
  const root = file.slice(0, -rel.length - 1);
  const parts = rel.split('/').slice(0, -1);
  for (const [at] of parts.entries()) claimFolder(storage, join(root, ...parts.slice(0, at + 1)));
}
