import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { UsageError } from './errors.ts';
import { describeExposure } from './private-files.ts';

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
