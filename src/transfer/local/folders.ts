import { accessSync, constants, existsSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { LocalError, unlessAbsent } from '../../base/errors.ts';
import { makeMissingFolders } from '../../base/private-files.ts';

function refuseLink(folder: string): void {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new LocalError(`${folder} is a symbolic link and is not followed`, {
    hint: 'delete the link, or give the directory that it leads to',
  });
}

/** True for a directory, and for a link to one. */
export function isFolder(path: string): boolean {
  return unlessAbsent(() => statSync(path, { throwIfNoEntry: false }))?.isDirectory() === true;
}

/** @throws {LocalError} where something else has the name of a directory, which may also be missing */
export function assertNothingElse(folder: string): void {
  const isNamed = lstatSync(folder, { throwIfNoEntry: false }) !== undefined;
  if (!isNamed || isFolder(folder)) return;
  throw new LocalError(`${folder} exists but is not a directory`);
}

/** Creates a directory and its parents. @throws {LocalError} where something else has its name */
export function makeFolders(folder: string, mode = 0o777): void {
  // In most cases it exists: the error of an attempt to create it would cost more.
  if (isFolder(folder)) return;
  makeMissingFolders(folder, mode);
  assertNothingElse(folder);
}

/** Checks for a dry run whether `makeFolders` would create a directory that files can be written to, or find one. @throws {LocalError} */
export function checkFolders(folder: string): void {
  assertNothingElse(folder);
  if (existsSync(folder)) accessSync(folder, constants.W_OK);
  else checkFolders(dirname(folder));
}

/** Checks for a dry run whether `makeLocalFolder` would create a directory, or find it. @throws {LocalError} */
export function checkLocalFolder(folder: string): void {
  refuseLink(folder);
  assertNothingElse(folder);
}

/** Creates a directory of a local tree. @throws {LocalError} where a link would lead out of the tree */
export function makeLocalFolder(folder: string): void {
  refuseLink(folder);
  mkdirSync(folder, { recursive: true });
}

/**
 * The directories between the root of a tree and one of its files, the highest first.
 * @param rel path of the file below the root of the tree, empty for the root itself
 * @throws {Error} when the file is not at this path, so that the root is unknown
 */
export function listWay(file: string, rel: string): string[] {
  if (rel === '') return [];
  if (!file.endsWith(`/${rel}`)) throw new Error(`${file} is not at ${rel} of a tree`);
  const way: string[] = [];
  let folder = file;
  for (const _ of rel.split('/').slice(1)) {
    folder = dirname(folder);
    way.unshift(folder);
  }
  return way;
}

/** @throws {LocalError} when a directory between the root of a tree and one of its files is a link */
export function checkWay(file: string, rel: string): void {
  for (const folder of listWay(file, rel)) refuseLink(folder);
}

/**
 * Creates the directories between the root of a tree and one of its files.
 * @param rel path below the root of the tree; the root itself may be a link
 * @throws {LocalError} where a link would lead out of the tree, or something else has the name of a directory
 */
export function makeWay(file: string, rel: string): void {
  checkWay(file, rel);
  makeFolders(dirname(file));
}
