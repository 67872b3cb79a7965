import { existsSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { unlessAbsent, UsageError } from './errors.ts';
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

/**
 * Rejects a directory with other files than those of a service, which would be mixed with its data: it must be missing, empty, or have a
 * database. Changes nothing.
 * @throws {UsageError} also as `assertOwnDataDirectory`
 */
export function assertDataDirectory(dataDir: string): void {
  assertOwnDataDirectory(dataDir);
  const names = unlessAbsent(() => readdirSync(dataDir)) ?? [];
  if (names.includes('cloud.db') || names.every((name) => name.startsWith(logName))) return;
  throw new UsageError(`${dataDir} has other files and is not the data of a local service; nothing was changed`, {
    hint: 'choose a new or empty directory with --data DIR',
  });
}
