import { accessSync, constants, existsSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LocalError } from '../../base/errors.ts';
import { makeMissingFolders } from '../../base/private-files.ts';

function refuseLink(folder: string): void {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new LocalError(`${folder} is a symbolic link and is not followed`, {
    hint: 'delete the link, or give the directory that it leads to',
  });
}

/** @throws {LocalError} where something else has the name of a directory, which may also be missing */
export function assertNothingElse(folder: string): void {
  const isNamed = lstatSync(folder, { throwIfNoEntry: false }) !== undefined;
  if (!isNamed || statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new LocalError(`${folder} exists but is not a directory`);
}

/** Creates a directory and its parents. @throws {LocalError} where something else has its name */
export function makeFolders(folder: string, mode = 0o777): void {
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

/** @throws {LocalError} when a directory between the root of a tree and one of its files is a link */
export function checkWay(file: string, rel: string): void {
  const parts = rel.split('/').slice(0, -1);
  if (!file.endsWith(`/${rel}`)) return;
  const root = file.slice(0, -rel.length - 1);
  for (const [at] of parts.entries()) refuseLink(join(root, ...parts.slice(0, at + 1)));
}

/**
 * Creates the directories between the root of a tree and one of its files.
 * @param rel path below the root of the tree; the root itself may be a link
 * @throws {LocalError} where a link would lead out of the tree
 */
export function makeWay(file: string, rel: string): void {
  checkWay(file, rel);
  mkdirSync(dirname(file), { recursive: true });
}
