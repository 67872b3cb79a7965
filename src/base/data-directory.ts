import { closeSync, existsSync, lstatSync, openSync, readdirSync, readSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { LocalError, unlessAbsent, UsageError } from './errors.ts';
import { describeExposure } from './private-files.ts';

/** The log of a background service, in its data directory: the only file there before the database exists. */
export const logName = 'service.log';

/** Files and folders that a service creates in its data directory. */
const folderNames = ['bytes', 'control', 'keys', 'sandbox', 'snapshots', 'tls', 'tmp', 'tools', 'zones'] as const;
const fileNames = ['cloud.db', 'cloud.pid', 'isolation.json', 'peer.secret', 'profile.json', 'run.json', 'running-tasks', logName] as const;

/** True if a directory has the data of a service. */
export function hasDatabase(dataDir: string): boolean {
  return existsSync(join(dataDir, 'cloud.db'));
}

/** What to do about a damaged database. */
export const damageHint =
  'restore a snapshot (cloud local snapshot list), put a backup in its place, or choose another directory with --data DIR';

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * True if the database of a data directory is empty or missing although its contents, which are created later, are there. False for what a
 * killed first start leaves.
 */
export function isDatabaseLost(dataDir: string): boolean {
  return sizeOf(join(dataDir, 'cloud.db')) === 0 && existsSync(join(dataDir, 'bytes'));
}

/** Describes how the file of an SQLite database differs from its own header; undefined if it does not. */
function findHeaderProblem(file: string): string | undefined {
  if (!statSync(file).isFile()) return 'is not a file';
  const header = Buffer.alloc(100);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, header, 0, header.length, 0);
  } finally {
    closeSync(descriptor);
  }
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0') return 'is not a database';
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  // Written only by releases of SQLite that keep the number of pages, and outdated while there is a log.
  const isCounted = header.readUInt32BE(24) === header.readUInt32BE(92) && sizeOf(`${file}-wal`) === 0;
  const expected = header.readUInt32BE(28) * pageSize;
  return isCounted && sizeOf(file) < expected ? `has only ${sizeOf(file)} of ${expected} bytes` : undefined;
}

/**
 * Finds damage of a database that no process uses by its size and header alone; undefined if there is none, or no database. A process that
 * has the database open would lose its lock.
 */
export function findFileDamage(dataDir: string): string | undefined {
  const file = join(dataDir, 'cloud.db');
  if (isDatabaseLost(dataDir)) return `${file} is empty or missing`;
  const problem = sizeOf(file) === 0 ? undefined : findHeaderProblem(file);
  return problem === undefined ? undefined : `${file} ${problem}`;
}

/** Says that the contents are missing although there is a database; undefined if they are there. */
export function findMissingFolder(dataDir: string): string | undefined {
  const folder = join(dataDir, 'bytes');
  return existsSync(folder) || sizeOf(join(dataDir, 'cloud.db')) === 0
    ? undefined
    : `${folder} is missing: objects can be listed, but most cannot be read`;
}

/** Names in a data directory that its service has not created; the temporary files and logs beside its own files begin with their names. */
export function listForeignNames(dataDir: string): string[] {
  const isOwn = (name: string): boolean =>
    folderNames.some((folder) => name === folder) ||
    fileNames.some((file) => name === file || (/^[.-]/u.test(name.slice(file.length)) && name.startsWith(file)));
  return readdirSync(dataDir).filter((name) => !isOwn(name));
}

/** Folders of a data directory that contain secrets. */
const secretFolders: readonly string[] = ['keys', 'tls'];

function describeKind(stats: Stats): string | undefined {
  if (stats.isSymbolicLink()) return 'is a symbolic link';
  return stats.isFile() || stats.isDirectory() ? undefined : 'is neither a file nor a directory';
}

/** Describes why a path must not be used; undefined when it may. */
function findProblem(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  const problem = describeKind(stats) ?? describeExposure(stats);
  return problem === undefined ? undefined : `${path} ${problem}`;
}

function findProblemIn(folder: string): string | undefined {
  for (const name of readdirSync(folder)) {
    const problem = findProblem(`${folder}/${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * Rejects a data directory that another user owns or can write to: it would expose private keys, and its files could be forged. A directory
 * that does not exist passes. Changes nothing.
 * @throws {UsageError} when the directory or its contents are links, belong to another user, or can be written by others.
 */
export function assertOwnDataDirectory(dataDir: string): void {
  const stats = lstatSync(dataDir, { throwIfNoEntry: false });
  if (stats === undefined) return;
  const isFolder = stats.isDirectory();
  const problem =
    findProblem(dataDir) ??
    (isFolder ? findProblemIn(dataDir) : `${dataDir} is not a directory`) ??
    secretFolders
      .map((name) => `${dataDir}/${name}`)
      .filter((folder) => lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true)
      .map(findProblemIn)
      .find((each) => each !== undefined);
  if (problem === undefined) return;
  throw new UsageError(`data directory ${dataDir} is not safe to use: ${problem}`, { hint: 'choose another directory with --data DIR' });
}

/** @throws {LocalError} if all but the database is there of the data of a service */
export function assertDatabaseKept(dataDir: string): void {
  if (!isDatabaseLost(dataDir) || listForeignNames(dataDir).length > 0) return;
  throw new LocalError(`${join(dataDir, 'cloud.db')} is empty or missing; nothing was changed`, { hint: damageHint });
}

/**
 * Rejects a directory with other files than those of a service, which would be mixed with its data: it must be missing, empty, or have a
 * database. Changes nothing.
 * @throws {UsageError} also as `assertOwnDataDirectory`; {LocalError} if only the database is lost
 */
export function assertDataDirectory(dataDir: string): void {
  assertOwnDataDirectory(dataDir);
  const names = unlessAbsent(() => readdirSync(dataDir)) ?? [];
  assertDatabaseKept(dataDir);
  if (names.includes('cloud.db') || names.every((name) => name.startsWith(logName))) return;
  throw new UsageError(`${dataDir} has other files and is not the data of a local service; nothing was changed`, {
    hint: 'choose a new or empty directory with --data DIR',
  });
}
