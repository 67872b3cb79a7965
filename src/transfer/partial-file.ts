import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { constants, lstatSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSystemError } from '../errors.ts';
import type { Processes } from './engine.ts';

/**
 * Files that are being written, until they are whole. Each process has a name of its own for each, so that two that write the same file
 * never touch each other's; what a process left that is gone is found by the beginning of its name. In a folder that others can write to,
 * one of theirs may stand under any name.
 */

/** Files of this program that wait to be completed; no part of a tree. */
export const unfinishedName = /^\.cloud-[0-9a-f]{20}-(\d+)-[0-9a-f]{8}\.part$/;

/** Milliseconds after which a file that nobody wrote to is taken for left, though its process seems to live: numbers are used again. */
const longestSilence = 600_000;

/** What the names of all unfinished files of one version of an object begin with; the same for every run. */
function nameVersion(file: string, etag: string | undefined): string {
  const id = createHash('sha256')
    .update(`${basename(file)}\n${etag ?? randomUUID()}`)
    .digest('hex')
    .slice(0, 20);
  return `.cloud-${id}-`;
}

/** A name that only this process writes to. */
export function nameUnfinished(file: string, etag: string | undefined, { own }: Processes): string {
  return join(dirname(file), `${nameVersion(file, etag)}${own}-${randomBytes(4).toString('hex')}.part`);
}

/** Bytes of a file that this user began; 0 when there is none, or what is there is a link or somebody else's. */
export function sizeOfOwn(file: string): number {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true || stats.nlink > 1) return 0;
  return process.getuid === undefined || stats.uid === process.getuid() ? stats.size : 0;
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
    .map((name) => ({ left: join(dirname(file), name), pid: Number(unfinishedName.exec(name)?.[1]) }))
    .filter(({ left, pid }) => sizeOfOwn(left) > 0 && isLeft(left, pid, processes))
    .map(({ left }) => left)
    .toSorted((a, b) => sizeOfOwn(b) - sizeOfOwn(a));
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
