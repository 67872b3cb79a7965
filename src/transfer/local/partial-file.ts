import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { digestText } from '../../base/fnv.ts';
import { isSystemError, LocalError } from '../../base/errors.ts';
import { removeQuietly } from '../../base/private-files.ts';
import { quoteShell } from '../../base/quote.ts';
import type { Processes } from '../engine.ts';
import { isSameState, readState, type FileState } from './file-state.ts';
import { beginOf, nameVersion, unfinishedName } from './unfinished-name.ts';

/**
 * Temporary files that hold downloads until they are complete. Each process uses its own name for each file, so that two processes that
 * write the same file never touch each other's. The file of a dead process is found by the prefix of its name. In a directory that others
 * can write to, a file with such a name may be theirs.
 */

/** Milliseconds without a write after which a file counts as abandoned even if its process seems to live: PIDs are reused. */
const longestSilence = 600_000;

/** Size in bytes of an unfinished file of this user; 0 when it is missing, a link, or somebody else's. */
export function sizeOfOwn(file: string): number {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true || stats.nlink > 1) return 0;
  return process.getuid === undefined || stats.uid === process.getuid() ? stats.size : 0;
}

/**
 * The permission bits of a file that is replaced, so that a private file stays private and a script executable. Undefined for somebody
 * else's file, which may be planted: then the umask decides, as for a new file.
 */
export function keepMode(there: Stats | undefined): number | undefined {
  const isOwn = there?.isFile() === true && (process.getuid === undefined || there.uid === process.getuid());
  return isOwn ? there.mode & 0o777 : undefined;
}

/** True if an unfinished file was created by this program for this user, by the checksum in its name. */
export function isOwnUnfinished(file: string): boolean {
  const [, start, , check] = unfinishedName.exec(basename(file)) ?? [];
  const stats = lstatSync(file, { throwIfNoEntry: false });
  const isOwn = stats?.isFile() === true && (process.getuid === undefined || stats.uid === process.getuid());
  return isOwn && start !== undefined && check === digestText(start);
}

function isLeft(file: string, pid: number, { own, isAlive }: Processes): boolean {
  if (pid === own || !isAlive(pid)) return true;
  const { mtimeMs = Infinity } = lstatSync(file, { throwIfNoEntry: false }) ?? {};
  return Date.now() - mtimeMs > longestSilence;
}

/** Names of unfinished files in the directory of a file. A directory that cannot be listed may still be writable. */
function listUnfinished(file: string): string[] {
  try {
    return readdirSync(dirname(file)).filter((name) => unfinishedName.test(name));
  } catch (error) {
    if (isSystemError(error) && error.code === 'EACCES') return [];
    throw error;
  }
}

/** True if the directory of a file has any unfinished file. */
export function hasUnfinished(file: string): boolean {
  return listUnfinished(file).length > 0;
}

/**
 * Unfinished files of a version of an object that earlier runs left, the longest first. Files that a living process is writing are left
 * out.
 */
export function findLeft(file: string, etag: string | undefined, processes: Processes): string[] {
  const start = nameVersion(basename(file), etag);
  return listUnfinished(file)
    .filter((name) => name.startsWith(start))
    .map((name) => ({ left: join(dirname(file), name), pid: Number(unfinishedName.exec(name)?.[2]) }))
    .filter(({ left, pid }) => sizeOfOwn(left) > 0 && isLeft(left, pid, processes))
    .map(({ left }) => left)
    .toSorted((a, b) => sizeOfOwn(b) - sizeOfOwn(a));
}

/**
 * Removes what earlier runs have written of other versions of an object that is complete now: nothing will resume those, nor files without
 * the name of a target. Left alone: files of living processes, and files whose name shows only a part of the target's.
 */
export function removeStale(file: string, processes: Processes): void {
  const name = basename(file);
  if (beginOf(name) !== name) return;
  for (const each of listUnfinished(file)) {
    const [, , pid, , target] = unfinishedName.exec(each) ?? [];
    const left = join(dirname(file), each);
    if ((target ?? name) === name && isOwnUnfinished(left) && sizeOfOwn(left) > 0 && isLeft(left, Number(pid), processes))
      removeQuietly(left);
  }
}

/** Renames a file. @returns false when it is gone: another process was faster */
export function claim(file: string, name: string): boolean {
  try {
    renameSync(file, name);
    return true;
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return false;
    throw error;
  }
}

/** The same, replacing an existing file. @throws {LocalError} where the system protects that file */
function replaceFile(unfinished: string, file: string): boolean {
  try {
    return claim(unfinished, file);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EPERM') throw error;
    throw new LocalError(`${file} cannot be replaced: operation not permitted`, {
      hint: `it may be immutable or append-only (chattr), or owned by another user: lsattr ${quoteShell(file)}`,
      cause: error,
    });
  }
}

/** What may exist at a path when a finished file is renamed to it. */
export type Replaced = 'anything' | 'nothing' | FileState;

/** What exists at a path now; anything but a regular file is not compared. */
export function lookAt(file: string): Replaced {
  const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return 'nothing';
  return stats.isFile() ? readState(stats) : 'anything';
}

/** A file was created or changed at a path where a finished one was to be placed. It is left as it is. */
export class PlaceTakenError extends LocalError {}

function takenError(file: string): PlaceTakenError {
  return new PlaceTakenError(`${file} was created or changed meanwhile: left alone`);
}

/** Error codes of `link` on file systems without hard links, or at their limit. */
const linkless = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** Renames a file to a name that must not exist. */
function nameWhereNothingIs(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file);
    unlinkSync(unfinished);
  } catch (error) {
    if (!isSystemError(error) || !linkless.has(error.code ?? '')) throw error;
    // An empty file reserves the name; `O_EXCL` makes sure that only one process creates it.
    const placeholder = openSync(file, creating);
    try {
      const own = fstatSync(placeholder, { bigint: true });
      const there = lstatSync(file, { bigint: true, throwIfNoEntry: false });
      if (there?.ino !== own.ino || there.size !== 0n) throw takenError(file);
      try {
        renameSync(unfinished, file);
      } catch (failure) {
        removeQuietly(file);
        throw failure;
      }
    } finally {
      closeSync(placeholder);
    }
  }
}

/**
 * Renames a finished file to its target, unless something unexpected exists there.
 * @returns false when the file is gone: another process was faster
 * @throws {PlaceTakenError} and then the target is unchanged
 */
export function giveName(unfinished: string, file: string, replaced: Replaced): boolean {
  if (typeof replaced === 'object') {
    const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined || !isSameState(readState(stats), replaced)) throw takenError(file);
  }
  if (replaced !== 'nothing') return replaceFile(unfinished, file);
  try {
    nameWhereNothingIs(unfinished, file);
    return true;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code === 'EEXIST') throw takenError(file);
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

const creating = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Directories in which this process has verified that its temporary files can be removed. */
const removable = new Set<string>();

/** @throws {LocalError} in an append-only directory, where a temporary file could be neither renamed nor removed */
function assertRemovable(file: string): void {
  const folder = dirname(file);
  if (removable.has(folder)) return;
  try {
    // The kernel checks the permission to remove the entry before it notices that this is not a directory, and `rmdir` never removes a
    // file.
    rmdirSync(file);
  } catch (error) {
    if (isSystemError(error) && error.code === 'EPERM')
      throw new LocalError(`${folder} is an append-only directory: only the empty ${file} was created`, {
        hint: `as root: chattr -a ${quoteShell(folder)}; then delete that file`,
        cause: error,
      });
  }
  removable.add(folder);
}

function openNew(file: string, mode: number): number {
  const descriptor = openSync(file, creating, mode);
  try {
    assertRemovable(file);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/**
 * Creates and opens a file, replacing whatever has its name.
 * @param mode permission bits of the finished file, from which the umask takes some; until then its owner can also read and write it
 * @returns the descriptor
 */
export function createOwn(file: string, mode = 0o666): number {
  const unfinished = mode | 0o600;
  try {
    return openNew(file, unfinished);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EEXIST') throw error;
    rmSync(file, { force: true });
    return openNew(file, unfinished);
  }
}
