/** A tree as the commands that move or remove see it: names and contents, nothing else. */

export const directory = Symbol('directory');

/** What is at each path below the root: a directory, or the content of a file or object. */
export type Entry = string | typeof directory;
export type Tree = ReadonlyMap<string, Entry>;

/** What a command makes of a tree, and whether some of it had to be left alone. */
export interface Outcome {
  readonly tree: Tree;
  readonly isWhole: boolean;
}

/** The directories above a path, the highest first. */
export function above(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'));
}

export function isBelow(path: string, root: string): boolean {
  return path.startsWith(`${root}/`);
}

/** The tree without a path and what is below it. */
export function without(tree: Tree, path: string): Map<string, Entry> {
  return new Map([...tree].filter(([each]) => each !== path && !isBelow(each, path)));
}

/** The tree with something at a path, whatever was there and above it. */
export function withEntry(tree: Tree, path: string, entry: Entry): Tree {
  const changed = new Map(tree);
  for (const folder of above(path)) {
    if (typeof changed.get(folder) === 'string') changed.delete(folder);
    changed.set(folder, directory);
  }
  if (entry === directory && changed.get(path) === directory) return changed;
  return new Map([...without(changed, path), [path, entry]]);
}

/** How a command puts one tree over another. */
export interface Overlay {
  /** What is only in the target goes, and what is of another kind there is replaced. */
  readonly deletes?: boolean;
  /** Files that are there stay. */
  readonly keeps?: boolean;
}

/** What becomes of a tree when another is put over it. What is of another kind stays, and is no success. */
export function overlay(from: Tree, to: Tree, { deletes = false, keeps = false }: Overlay = {}): Outcome {
  if (deletes) return { tree: new Map(from), isWhole: true };
  const tree = new Map(to);
  let isWhole = true;
  const paths = [...from.keys()].toSorted((a, b) => a.split('/').length - b.split('/').length);
  for (const path of paths) {
    const entry = from.get(path);
    const there = to.get(path);
    if (entry === undefined) continue;
    const isBlocked = above(path).some((folder) => typeof to.get(folder) === 'string');
    const isOtherKind = there !== undefined && (there === directory) !== (entry === directory);
    if (isBlocked || isOtherKind) isWhole = false;
    else if (entry === directory || there === undefined || !keeps) tree.set(path, entry);
  }
  return { tree, isWhole };
}

/** Gives a path and what is below it another name. */
export function rename(tree: Tree, from: string, to: string, keepsSource: boolean): Tree {
  const renamed = new Map<string, Entry>(keepsSource ? tree : without(tree, from));
  tree.forEach((entry, path) => {
    if (path === from || isBelow(path, from)) renamed.set(to + path.slice(from.length), entry);
  });
  return renamed;
}

/**
 * The paths that a disturbed command has lost or spoilt: each must be as it was or as the command makes it.
 * @param wanted what the command makes of the tree, with and without what somebody else changed meanwhile
 * @param isFree paths that somebody else changed
 */
export function findLosses(before: Tree, after: Tree, wanted: readonly Tree[], isFree: (path: string) => boolean): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((path) => {
    const old = before.get(path);
    const entry = after.get(path);
    const isOnItsWay = (tree: Tree): boolean => {
      const next = tree.get(path);
      // What changes its kind is removed before it is made anew.
      const changesKind = old !== undefined && next !== undefined && (old === directory) !== (next === directory);
      return entry === next || (entry === undefined && changesKind);
    };
    return !isFree(path) && entry !== old && !wanted.some(isOnItsWay);
  });
}

/** A tree as text, for comparisons and messages. */
export function print(tree: Tree): Record<string, string> {
  const lines = [...tree].map(([path, entry]) => [path, entry === directory ? '/' : entry.slice(0, 12)] as const);
  return Object.fromEntries(lines.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
