import { UsageError } from '../base/errors.ts';
import { accountWord, readResource } from '../lookup/resource.ts';

/** True if a path below the account is in the object storage. */
export function isStoragePath(path: string): boolean {
  return /^(stor|public)(\/|$)/.test(path);
}

export function isAtOrBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}

/** True if a tree of a document contains the path: the tree of the account contains everything outside the object storage. */
export function isInTree(path: string, root: string): boolean {
  return isAtOrBelow(path, root) || (root === accountWord && !isStoragePath(path));
}

/** Parses the path of a tree: a collection, one of its members, or a directory or object. @throws {UsageError} for anything else */
export function readTreePath(word: string, account: string): string {
  const below = word.startsWith('/my/') ? word.slice(4) : word.startsWith(`/${account}/`) ? word.slice(account.length + 2) : word;
  const path = below.replace(/\/+$/, '');
  if (!isStoragePath(path)) return readResource(word, account).path;
  if (path.split('/').some((part) => ['', '.', '..'].includes(part))) {
    throw new UsageError(`"${word}" is not a path: a part of it is empty or dots`, { hint: 'paths are such as stor/photos' });
  }
  return path;
}

/** The roles of the deepest tree that contains a path; undefined if there is none. */
export function findTree(trees: Readonly<Record<string, readonly string[]>>, path: string): readonly string[] | undefined {
  for (let root = path; root !== ''; root = root.slice(0, Math.max(0, root.lastIndexOf('/')))) {
    if (Object.hasOwn(trees, root)) return trees[root];
  }
  return isStoragePath(path) ? undefined : trees[accountWord];
}

/** Trees of the object storage that no other tree contains. */
export function listOuterTrees(trees: Readonly<Record<string, unknown>>): string[] {
  const paths = Object.keys(trees).filter(isStoragePath);
  return paths.filter((path) => !paths.some((other) => other !== path && isAtOrBelow(path, other)));
}
