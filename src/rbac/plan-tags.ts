import { UsageError } from '../base/errors.ts';
import type { Change } from './change.ts';
import type { RbacDocument } from './document.ts';
import type { Renamings } from './plan-part.ts';
import { normalisePath, type State } from './state.ts';
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
  /** Paths of all resources that can be tagged and exist by then, except those in the object storage. */
  paths: Iterable<string>;
}

/**
 * The wanted role tags by path; an entry for a path overrides the trees that contain it. @throws {UsageError} for the tree of a missing
 * user, policy or role
 */
function listWanted({ tags = {}, trees = {} }: RbacDocument, state: State, found: readonly string[]): Map<string, string[]> {
  const normalise = (named: Readonly<Record<string, readonly string[]>>): [string, string[]][] =>
    Object.entries(named).map(([path, roles]) => [isStoragePath(path) ? path : normalisePath(path, state), roles.toSorted()]);
  const wanted = new Map(normalise(tags));
  const roots = Object.fromEntries(normalise(trees));
  const known = new Set(found);
  const missing = Object.keys(roots).find((root) => /^(users|policies|roles)\//.test(root) && !known.has(root));
  if (missing !== undefined) throw new UsageError(`trees: ${missing} will not be there`, { hint: 'take it out of the document' });
  // For members that cannot be listed, such as instances, a tree consists of the member alone.
  for (const path of [...Object.keys(roots).filter((root) => !isStoragePath(root)), ...found]) {
    const roles = findTree(roots, path);
    if (roles && !wanted.has(path)) wanted.set(path, [...roles]);
  }
  return wanted;
}

/** The changes of role tags. */
export function planTags(document: RbacDocument, state: State, actual: Tags, after: Aftermath): Change[] {
  if (document.tags === undefined && document.trees === undefined) return [];
  const { renamings, gone, prune, paths } = after;
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
  const wanted = listWanted(document, state, [...paths, ...[...is.keys()].filter(isStoragePath)]);
  if (prune && document.tags !== undefined) for (const path of is.keys()) if (!wanted.has(path)) wanted.set(path, []);
  return [...wanted].flatMap(([path, to]): Change[] => {
    const from = is.get(path) ?? [];
    if (JSON.stringify(from) === JSON.stringify(to)) return [];
    const differences = [{ field: 'role-tag', from, to }];
    return [{ action: 'update', kind: 'tags', name: path, differences, step: { do: 'setTags', path, roles: to } }];
  });
}
