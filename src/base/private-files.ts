import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
  type Stats,
} from 'node:fs';

/**
 * Opens, reads and writes all files that the program keeps for one user (compiled code, TLS sessions, responses, state, profiles).
 * Other users may be able to write to the cache and state folders, so a file there is used only if this user owns it and nobody else can
 * write to it. The code that runs before the program is loaded uses this file too, which therefore imports nothing but `node:fs`.
 */

/** A file or folder that exists but must not be used. */
export class UntrustedFile extends Error {}

/** Largest profile, authority file or note that is read, in bytes. */
export const largestUserFile = 1024 * 1024;

/** Both are undefined on Windows, where they are not needed. */
const { O_NOFOLLOW: noFollow, O_NONBLOCK: noWait } = constants;

function isOwn({ uid }: Stats): boolean {
  return process.getuid === undefined || uid === process.getuid();
}

/** Describes why a file or folder is not private; undefined when it is. */
export function describeExposure(stats: Stats): string | undefined {
  if (!isOwn(stats)) return `belongs to another user (uid ${stats.uid})`;
  return process.getuid !== undefined && (stats.mode & 0o022) !== 0 ? 'is writable by other users: chmod go-w' : undefined;
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

/** Why no folder may be created below this path: it would be in a folder of another user. Undefined where creating it fails anyway. */
function findCreationProblem(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return path === '/' ? undefined : findCreationProblem(parentOf(path));
  // Folders with the sticky bit, such as /tmp, are for all users.
  if (isOwn(stats) || (stats.mode & 0o1000) !== 0) return undefined;
  try {
    accessSync(path, constants.W_OK);
  } catch {
    return undefined;
  }
  return `${path} ${describeExposure(stats)}`;
}

/** Describes why the last folder must not be used; undefined if it can be used or created. @param folders path from the outermost folder */
export function findFolderProblem(folders: readonly string[]): string | undefined {
  try {
    for (const folder of folders) {
      const stats = lstatSync(folder, { throwIfNoEntry: false });
      if (stats === undefined) return findCreationProblem(parentOf(folder));
      if (stats.isSymbolicLink()) return `${folder} is a symbolic link`;
      const problem = stats.isDirectory() ? describeExposure(stats) : 'is not a directory';
      if (problem !== undefined) return `${folder} ${problem}`;
    }
  } catch (error) {
    return describeDenial(error);
  }
  return undefined;
}

/** For a folder that this user may not read. Other problems of a path are reported when it is read or written. */
function describeDenial(error: unknown): string | undefined {
  const { code, path } = error as NodeJS.ErrnoException;
  return code === 'EACCES' ? `${path} cannot be read by this user` : undefined;
}

function openChecked(path: string, flags: number, check: (stats: Stats) => string | undefined): { file: number; size: number } {
  const file = openSync(path, noWait | flags);
  try {
    const stats = fstatSync(file);
    const problem = stats.isFile() ? check(stats) : 'is not a regular file';
    if (problem !== undefined) throw new UntrustedFile(`${path} ${problem}`);
    return { file, size: stats.size };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Opens a private file for reading. @throws {UntrustedFile} for links, pipes, devices, and files that others own or can write to */
export function openPrivate(path: string): { file: number; size: number } {
  return openChecked(path, constants.O_RDONLY | noFollow, describeExposure);
}

function readOpened(path: string, { file, size }: { file: number; size: number }, limit: number): string {
  try {
    if (size > limit) throw new UntrustedFile(`${path} is larger than ${limit} bytes`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

/** Reads a private file. @throws {UntrustedFile} as `openPrivate`, and for a file larger than `limit` bytes */
export function readPrivate(path: string, limit = largestUserFile): string {
  return readOpened(path, openPrivate(path), limit);
}

/** Reads a regular file that the user named or linked: of any owner, or with `isConfig` owned by this user or root. */
export function readUserFile(path: string, { isConfig = false, limit = largestUserFile } = {}): string {
  const check = (stats: Stats): string | undefined => {
    if (!isConfig || process.getuid === undefined) return undefined;
    if (!isOwn(stats) && stats.uid !== 0) return describeExposure(stats);
    return (stats.mode & 0o002) !== 0 ? 'is writable by everyone: chmod o-w' : undefined;
  };
  return readOpened(path, openChecked(path, constants.O_RDONLY, check), limit);
}

function isReadable(path: string): boolean {
  accessSync(path, constants.R_OK | constants.X_OK);
  return true;
}

/** Describes why a folder of the user's configuration must not be used. Links to it are allowed, because the user made them. */
export function findConfigProblem(folder: string): string | undefined {
  try {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats === undefined || isOwn(stats) || (stats.uid === 0 && isReadable(folder))) return undefined;
    return `${folder} ${describeExposure(stats)}`;
  } catch (error) {
    return describeDenial(error);
  }
}

interface WriteOptions {
  /** False for files that may be lost. */
  readonly flush?: boolean;
  /** Replaces the target of a link, not the link. */
  readonly throughLinks?: boolean;
}

/** The target of a link; the path itself for a dangling link, which is replaced. */
function follow(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true && statSync(path, { throwIfNoEntry: false })
    ? realpathSync(path)
    : path;
}

/**
 * Creates a folder and its missing parents; an existing entry of the name stays. With `recursive`, Node.js never returns in places where
 * the system refuses to create folders, such as below /proc.
 */
export function makeMissingFolders(folder: string, mode = 0o700): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const above = parentOf(folder);
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || existsSync(above)) throw error;
    makeMissingFolders(above, mode);
    makeMissingFolders(folder, mode);
  }
}

/** Writes a file for this user only, atomically: a temporary file with a random name, which is then renamed. Creates the folder. */
export function writePrivate(path: string, content: string | Uint8Array, { flush = true, throughLinks = false }: WriteOptions = {}): void {
  const target = throughLinks ? follow(path) : path;
  makeMissingFolders(parentOf(target));
  const temporary = `${target}.${Math.random().toString(36).slice(2)}`;
  try {
    const file = createPrivate(temporary);
    try {
      // `writeFileSync` repeats partial writes, which happen on a nearly full disk.
      writeFileSync(file, content);
      if (flush) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, target);
  } catch (error) {
    removeQuietly(temporary);
    throw error;
  }
}

/** Creates a new file for writing. @returns the descriptor */
export function createPrivate(path: string): number {
  return openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | noFollow, 0o600);
}

/** Opens a private file for appending. @returns the descriptor @throws {UntrustedFile} as `openPrivate` */
export function openToAppend(path: string): number {
  return openChecked(path, constants.O_WRONLY | constants.O_APPEND | noFollow, describeExposure).file;
}

/** Deletes a file; ignores failures. */
export function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Where nothing can be deleted, nothing was written either.
  }
}

/**
 * Doubles content so that damage can be detected. Comparing two copies is the cheapest check that detects a single changed bit: a checksum
 * needs a loop that takes 2 ms before it is compiled, or a module of Node.js that takes 1 to 3 ms to load.
 */
export function writeTwice(content: Uint8Array): Uint8Array {
  return Buffer.concat([content, content]);
}

/** Bytes of the two copies that are compared in one step. */
const comparedAtOnce = 64 * 1024;

/** Reads a range of content that `writeTwice` doubled. @param size of the file @throws {UntrustedFile} when the two copies differ */
export function readTwice(file: number, size: number, position: number, length: number): Buffer {
  const half = size / 2;
  if (position < 0 || length < 0 || position + length > half) throw new UntrustedFile('a range is outside of the file');
  const bytes = Buffer.allocUnsafeSlow(length);
  if (readSync(file, bytes, 0, length, position) !== length) throw new UntrustedFile('the file is damaged');
  // In steps: allocating memory for a second copy of a large file takes longer than filling it.
  const copy = Buffer.allocUnsafeSlow(Math.min(length, comparedAtOnce));
  for (let at = 0; at < length; at += copy.length) {
    const part = bytes.subarray(at, at + copy.length);
    if (readSync(file, copy, 0, part.length, half + position + at) !== part.length || part.compare(copy, 0, part.length) !== 0)
      throw new UntrustedFile('the file is damaged');
  }
  return bytes;
}
