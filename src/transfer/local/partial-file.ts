import { createHash, randomFillSync } from 'node:crypto';
import { closeSync, constants, fstatSync, linkSync, lstatSync, openSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSystemError, LocalError } from '../../base/errors.ts';
import { removeQuietly } from '../../base/private-files.ts';
import { quoteShell } from '../../base/quote.ts';
import type { Processes } from '../engine.ts';
import { isSameState, readState, type FileState } from './file-state.ts';

/**
 * Files that are being written, until they are whole. Each process has a name of its own for each, so that two that write the same file
 * never touch each other's; what a process left that is gone is found by the beginning of its name. In a folder that others can write to,
 * one of theirs may stand under any name.
 */

/** Files of this program that wait to be completed; no part of a tree. */
export const unfinishedName = /^(\.cloud-[0-9a-f]{20}-(\d+)-[0-9a-f]{8})([0-9a-f]{8})(?:\.(.+))?\.part$/s;

/** What a name ends with that this program made: hardly any other has it by chance. */
function checkOf(start: string): string {
  // FNV-1a: a digest of `node:crypto` costs more than the rest of the name, for each file of a tree.
  let hash = 0x811c9dc5;
  for (let at = 0; at < start.length; at += 1) hash = Math.imul(hash ^ start.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

/** Milliseconds after which a file that nobody wrote to is taken for left, though its process seems to live: numbers are used again. */
const longestSilence = 600_000;

/** Random bytes for the names to come: to ask for a few takes as long as for many. */
const entropy = Buffer.alloc(2048);
let used = entropy.length;

/** So many random bytes, in hexadecimal digits. */
function randomHex(bytes: number): string {
  if (used + bytes > entropy.length) {
    randomFillSync(entropy);
    used = 0;
  }
  used += bytes;
  return entropy.toString('hex', used - bytes, used);
}

/** What the names of all unfinished files of one version of an object begin with; the same for every run, where the version is known. */
function nameVersion(file: string, etag: string | undefined): string {
  if (etag === undefined) return `.cloud-${randomHex(10)}-`;
  const id = createHash('sha256')
    .update(`${basename(file)}\n${etag}`)
    .digest('hex')
    .slice(0, 20);
  return `.cloud-${id}-`;
}

/** Bytes of a target's name that the name of its unfinished file shows: with all else, less than any file system takes. */
const shownBytes = 60;

/** The beginning of a name, cut between characters. */
function beginOf(name: string): string {
  let shown = '';
  let length = 0;
  for (const character of name) {
    length += Buffer.byteLength(character);
    if (length > shownBytes) break;
    shown += character;
  }
  return shown;
}

/** A name that only this process writes to; it shows of which file. @param etag absent for what no later run goes on with */
export function nameUnfinished(file: string, etag: string | undefined, { own }: Processes): string {
  const start = `${nameVersion(file, etag)}${own}-${randomHex(4)}`;
  return join(dirname(file), `${start}${checkOf(start)}.${beginOf(basename(file))}.part`);
}

/** Bytes of a file that this user began; 0 when there is none, or what is there is a link or somebody else's. */
export function sizeOfOwn(file: string): number {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true || stats.nlink > 1) return 0;
  return process.getuid === undefined || stats.uid === process.getuid() ? stats.size : 0;
}

/** Whether a file under the name of an unfinished one was written by this program for this user: its name says so of itself. */
export function isOwnUnfinished(file: string): boolean {
  const [, start, , check] = unfinishedName.exec(basename(file)) ?? [];
  const stats = lstatSync(file, { throwIfNoEntry: false });
  const isOwn = stats?.isFile() === true && (process.getuid === undefined || stats.uid === process.getuid());
  return isOwn && start !== undefined && check === checkOf(start);
}

function isLeft(file: string, pid: number, { own, isAlive }: Processes): boolean {
  if (pid === own || !isAlive(pid)) return true;
  const { mtimeMs = Infinity } = lstatSync(file, { throwIfNoEntry: false }) ?? {};
  return Date.now() - mtimeMs > longestSilence;
}

/** Names of unfinished files beside a file. A folder that cannot be listed may still be written to. */
function listUnfinished(file: string): string[] {
  try {
    return readdirSync(dirname(file)).filter((name) => unfinishedName.test(name));
  } catch (error) {
    if (isSystemError(error) && error.code === 'EACCES') return [];
    throw error;
  }
}

/** Whether any unfinished file is beside this one. */
export function hasUnfinished(file: string): boolean {
  return listUnfinished(file).length > 0;
}

/** What earlier runs have written of a version of an object, the longest first. What a living process is writing is none of it. */
export function findLeft(file: string, etag: string | undefined, processes: Processes): string[] {
  const start = nameVersion(file, etag);
  return listUnfinished(file)
    .filter((name) => name.startsWith(start))
    .map((name) => ({ left: join(dirname(file), name), pid: Number(unfinishedName.exec(name)?.[2]) }))
    .filter(({ left, pid }) => sizeOfOwn(left) > 0 && isLeft(left, pid, processes))
    .map(({ left }) => left)
    .toSorted((a, b) => sizeOfOwn(b) - sizeOfOwn(a));
}

/**
 * Removes what earlier runs have written of other versions of an object that is whole by now: nothing will go on with that.
 * Left alone: what a living process writes, and files whose name does not show all of the target's.
 */
export function removeStale(file: string, processes: Processes): void {
  const name = basename(file);
  if (beginOf(name) !== name) return;
  for (const each of listUnfinished(file)) {
    const [, , pid, , target] = unfinishedName.exec(each) ?? [];
    const left = join(dirname(file), each);
    if (target === name && isOwnUnfinished(left) && sizeOfOwn(left) > 0 && isLeft(left, Number(pid), processes)) removeQuietly(left);
  }
}

/** Gives a file another name. @returns false when it is gone: another process was quicker */
export function claim(file: string, name: string): boolean {
  try {
    renameSync(file, name);
    return true;
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return false;
    throw error;
  }
}

/** The same over a file that is there. @throws {LocalError} where the system protects that file */
function replaceFile(unfinished: string, file: string): boolean {
  try {
    return claim(unfinished, file);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EPERM') throw error;
    throw new LocalError(`${file} cannot be replaced: operation not permitted`, {
      hint: `it may be immutable or append-only (chattr), or another user's: lsattr ${quoteShell(file)}`,
      cause: error,
    });
  }
}

/** What may stand in a file's place when it gets its name. */
export type Replaced = 'anything' | 'nothing' | FileState;

/** What stands in a file's place now; what is no regular file is not compared. */
export function lookAt(file: string): Replaced {
  const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return 'nothing';
  return stats.isFile() ? readState(stats) : 'anything';
}

/** A file came, or was changed, where a finished one was to get its name. It stays as it is. */
export class PlaceTakenError extends LocalError {}

function takenError(file: string): PlaceTakenError {
  return new PlaceTakenError(`${file} was created or changed meanwhile: left alone`);
}

/** Errors of `link` on file systems that have no hard links, or no more of them. */
const linkless = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** Gives a file a name that nothing has. */
function nameWhereNothingIs(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file);
    rmSync(unfinished);
  } catch (error) {
    if (!isSystemError(error) || !linkless.has(error.code ?? '')) throw error;
    // The name is taken first, by an empty file that nobody else can make at the same time.
    const placeholder = openSync(file, creating);
    try {
      const own = fstatSync(placeholder, { bigint: true });
      const there = lstatSync(file, { bigint: true, throwIfNoEntry: false });
      if (there?.ino !== own.ino || there.size !== 0n) throw takenError(file);
      renameSync(unfinished, file);
    } finally {
      closeSync(placeholder);
    }
  }
}

/**
 * Gives a finished file its name, unless something else than expected stands there.
 * @returns false when the file is gone: another process was quicker
 * @throws {PlaceTakenError} and then what stands there is as it was
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

/** Directories in which this process has seen that its temporary files can be removed. */
const removable = new Set<string>();

/** @throws {LocalError} in a directory to which files can only be added: there a temporary file could be neither renamed nor removed */
function assertRemovable(file: string): void {
  const folder = dirname(file);
  if (removable.has(folder)) return;
  try {
    // The kernel checks whether the entry may be removed before it sees that it is no directory, and never removes a file.
    rmdirSync(file);
  } catch (error) {
    if (isSystemError(error) && error.code === 'EPERM')
      throw new LocalError(`files can only be added to ${folder} (append-only directory): nothing was written but the empty ${file}`, {
        hint: `as root: chattr -a ${quoteShell(folder)}; then remove that file`,
        cause: error,
      });
  }
  removable.add(folder);
}

function openNew(file: string): number {
  const descriptor = openSync(file, creating, 0o666);
  try {
    assertRemovable(file);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Opens a new file, in the place of whatever has its name. @returns the descriptor */
export function createOwn(file: string): number {
  try {
    return openNew(file);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'EEXIST') throw error;
    rmSync(file, { force: true });
    return openNew(file);
  }
}
