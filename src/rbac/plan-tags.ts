import type { Change } from './change.ts';
import type { RbacDocument } from './document.ts';
import type { Renamings } from './plan-part.ts';
import { normalisePath, type State } from './state.ts';

/** Role tags by path in its one form. */
export type Tags = Readonly<Record<string, readonly string[]>>;

/** A path as it is once users, policies and roles have their new names. */
function renamePath(path: string, renamings: Readonly<Record<string, Renamings>>): string {
  const [collection = '', name, ...rest] = path.split('/');
  const renamed = name === undefined ? undefined : renamings[collection]?.get(name);
  return renamed === undefined ? path : [collection, renamed, ...rest].join('/');
}

/** What stands once other parts of the plan are done. */
export interface Aftermath {
  renamings: Readonly<Record<'users' | 'policies' | 'roles', Renamings>>;
  /** Names of roles that go, with their tags. */
  gone: ReadonlySet<string>;
  prune: boolean;
}

/** The changes of role tags. */
export function planTags(document: RbacDocument, state: State, actual: Tags, after: Aftermath): Change[] {
  if (document.tags === undefined) return [];
  const { renamings, gone, prune } = after;
  const is = new Map(
    Object.entries(actual).map(([path, tags]) => [
      renamePath(path, renamings),
      // By their old names: another role may get the name of one that goes.
      tags
        .filter((tag) => !gone.has(tag))
        .map((tag) => renamings.roles.get(tag) ?? tag)
        .toSorted(),
    ]),
  );
  const wanted = new Map(Object.entries(document.tags).map(([path, tags]) => [normalisePath(path, state), tags.toSorted()]));
  if (prune) for (const path of is.keys()) if (!wanted.has(path)) wanted.set(path, []);
  return [...wanted].flatMap(([path, to]): Change[] => {
    const from = is.get(path) ?? [];
    if (JSON.stringify(from) === JSON.stringify(to)) return [];
    const differences = [{ field: 'role-tag', from, to }];
    return [{ action: 'update', kind: 'tags', name: path, differences, step: { do: 'setTags', path, roles: to } }];
  });
}
