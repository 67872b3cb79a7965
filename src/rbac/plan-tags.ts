import { UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { Change } from './change.ts';
import type { RbacDocument } from './document.ts';
import type { Renamings } from './plan-part.ts';
import { normalizePath, type State } from './state.ts';
import { findTree, isStoragePath } from './tree.ts';

/** Role tags by normalized path. */
export type Tags = Readonly<Record<string, readonly string[]>>;

/** The path after users, policies and roles have been renamed. */
function renamePath(path: string, renamings: Readonly<Record<string, Renamings>>): string {
  const [collection = '', name, ...rest] = path.split('/');
  const renamed = name === undefined ? undefined : renamings[collection]?.get(name);
  return renamed === undefined ? path : [collection, renamed, ...rest].join('/');
}

/** The state after the other parts of the plan have been done. */
export interface Aftermath {
  renamings: Readonly<Record<'users' | 'policies' | 'roles', Renamings>>;
  /** Names of deleted roles, whose tags are deleted with them. */
  gone: ReadonlySet<string>;
  prune: boolean;
  /** Lists the paths of all resources that can be tagged and exist by then, except those in the object storage. */
  listPaths: () => string[];
}

/** The path with the login in lower case, as logins are the same in any case. */
function foldLogin(path: string): string {
  return path.replace(/^users\/[^/]+/, (user) => user.toLowerCase());
}

/** Paths by names that the service resolves itself, such as those that several keys share. */
function listNamePaths({ users = [] }: RbacDocument, state: State): string[] {
  return [
    ...state.keys.map(({ name }) => `keys/${name}`),
    ...state.packages.map(({ name }) => `packages/${name}`),
    ...state.images.map(({ name }) => `images/${name}`),
    ...[...state.users, ...users].flatMap(({ login, keys = [] }) => keys.map(({ name = '' }) => `users/${login}/keys/${name}`)),
  ];
}

/** @throws {UsageError} for a member of a collection that can be listed, if it will not exist: its tags could never be set */
function checkPaths(document: RbacDocument, state: State, existing: readonly string[]): void {
  const known = new Set([...existing, ...listNamePaths(document, state)].map(foldLogin));
  for (const [part, named] of Object.entries({ tags: document.tags, trees: document.trees })) {
    for (const path of Object.keys(named ?? {})) {
      const wanted = foldLogin(normalizePath(path, state));
      const [collection = '', ...name] = wanted.split('/');
      if (!/^(users|roles|policies|keys|images|packages)\/./.test(wanted) || known.has(wanted)) continue;
      const others = [...known].filter((each) => each.startsWith(`${collection}/`)).map((each) => each.slice(collection.length + 1));
      const close = nearest(name.join('/'), others);
      throw new UsageError(`${part}: ${path} will not exist`, {
        hint: close === undefined ? 'take it out of the document' : `did you mean ${collection}/${close}?`,
      });
    }
  }
}

/** The wanted role tags by path; an entry for a path overrides the trees that contain it. */
function listWanted({ tags = {}, trees = {} }: RbacDocument, state: State, found: readonly string[]): Map<string, string[]> {
  const normalize = (named: Readonly<Record<string, readonly string[]>>): [string, string[]][] =>
    Object.entries(named).map(([path, roles]) => [isStoragePath(path) ? path : normalizePath(path, state), roles.toSorted()]);
  const wanted = new Map(normalize(tags));
  const roots = Object.fromEntries(normalize(trees));
  // For members that cannot be listed, such as instances, a tree consists of the member alone.
  for (const path of [...Object.keys(roots).filter((root) => !isStoragePath(root)), ...found]) {
    const roles = findTree(roots, path);
    if (roles && !wanted.has(path)) wanted.set(path, [...roles]);
  }
  return wanted;
}

/** The changes of role tags. @throws {UsageError} for a path that will not exist */
export function planTags(document: RbacDocument, state: State, actual: Tags, after: Aftermath): Change[] {
  if (document.tags === undefined && document.trees === undefined) return [];
  const { renamings, gone, prune } = after;
  const is = new Map(
    Object.entries(actual).map(([path, tags]) => [
      renamePath(path, renamings),
      // By old names, because another role may get the name of a deleted one.
      tags
        .filter((tag) => !gone.has(tag))
        .map((tag) => renamings.roles.get(tag) ?? tag)
        .toSorted(),
    ]),
  );
  const paths = after.listPaths();
  checkPaths(document, state, [...paths, ...is.keys()]);
  const wanted = listWanted(document, state, [...paths, ...[...is.keys()].filter(isStoragePath)]);
  if (prune && document.tags !== undefined) for (const path of is.keys()) if (!wanted.has(path)) wanted.set(path, []);
  return [...wanted].flatMap(([path, to]): Change[] => {
    const from = is.get(path) ?? [];
    if (JSON.stringify(from) === JSON.stringify(to)) return [];
    const differences = [{ field: 'role-tag', from, to }];
    return [{ action: 'update', kind: 'tags', name: path, differences, step: { do: 'setTags', path, roles: to } }];
  });
}
