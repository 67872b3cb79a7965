import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { StorageClient } from '../../client/client.ts';
import { isSystemError, LocalError } from '../../base/errors.ts';
import { listWay } from './folders.ts';

/**
 * Some file systems treat two names as one: README and readme, or an accent as a character of its own and as a part of one. Of two objects
 * with such names the second is refused, and nothing is deleted because of it.
 */

/** Files (by device and inode) and folders that a run has created so far. */
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

/** Error codes of paths that cannot exist, beside `ENOENT`. */
const impossible = new Set(['ENOTDIR', 'ENAMETOOLONG']);

/** Undefined for a path that does not exist, also if a file takes the place of one of its directories, or the name is too long. */
function inspect(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error) && impossible.has(error.code ?? '')) return undefined;
    throw error;
  }
}

/** The name that the directory lists for an existing file, if it differs from the given one; undefined when it is the same. */
function findSpelling(file: string): string | undefined {
  const names = readdirSync(dirname(file));
  if (names.includes(basename(file))) return undefined;
  const { dev, ino } = inspect(file) ?? {};
  return names.find((name) => {
    const stats = inspect(join(dirname(file), name));
    return stats !== undefined && stats.dev === dev && stats.ino === ino;
  });
}

/** The error for two names that are one file on this file system. */
function createFoldedError(file: string, other: string): LocalError {
  return new LocalError(`${file} and ${other} are the same file on this file system: left alone`, {
    hint: 'rename one of the objects, or use a file system that distinguishes the names',
  });
}

/**
 * @param verified directories known to have their exact names; extended for the next call
 * @throws {LocalError} when a path, or a directory between it and the root, exists under another name
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

/** Notes that this run creates a file, before its rename. @param made stats of its temporary file */
export function noteMade(storage: StorageClient, { dev, ino }: Stats): void {
  const { files } = findMade(storage);
  files.set(dev, (files.get(dev) ?? new Set()).add(ino));
}

/** @throws {LocalError} when a path leads to a file that this run has created under another name */
export function assertApart(storage: StorageClient, file: string): void {
  const stats = inspect(file);
  if (stats === undefined || findMade(storage).files.get(stats.dev)?.has(stats.ino) !== true) return;
  const other = findSpelling(file);
  if (other !== undefined) throw createFoldedError(file, join(dirname(file), other));
}

/** True if a directory may have another name: one of the usual other spellings leads to the same directory. */
function mayFold(folder: string, { dev, ino }: Stats): boolean {
  const name = basename(folder);
  const spellings = [name.toUpperCase(), name.toLowerCase(), name.normalize('NFC'), name.normalize('NFD')];
  return spellings.some((spelling) => {
    const stats = spelling === name ? undefined : inspect(join(dirname(folder), spelling));
    return stats?.dev === dev && stats.ino === ino;
  });
}

/** Notes a directory that is written to. @throws {LocalError} when it is also the directory of another name */
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

/**
 * Notes the directories between the root of a tree and one of its files.
 * @throws {LocalError} when one is also the directory of another name
 */
export function claimWay(storage: StorageClient, file: string, rel: string): void {
  for (const folder of listWay(file, rel)) claimFolder(storage, folder);
}
