import { UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { Change } from './change.ts';
import type { RbacDocument } from './document.ts';
import type { Part } from './plan-part.ts';
import { planPolicies, planRoles } from './plan-roles.ts';
import { planTags, type Tags } from './plan-tags.ts';
import { planUsers } from './plan-users.ts';
import { takeChanges, takeForecast } from './forecast.ts';
import { parseMember } from '../lookup/role.ts';
import { listTaggable, type State } from './state.ts';
import { isAtOrBelow } from './tree.ts';

/** Names that exist after a document is applied: those that it mentions, and the others unless they are pruned. */
function listNames<T>(
  mentioned: readonly T[] | undefined,
  existing: readonly T[],
  prune: boolean,
  nameOf: (entry: T) => string,
): ReadonlySet<string> {
  return new Set([...(mentioned ?? existing), ...(prune ? [] : existing)].map(nameOf));
}

function requireKnown(known: ReadonlySet<string>, word: string, where: string, noun: string): void {
  if (known.has(word)) return;
  const close = nearest(word, known);
  throw new UsageError(`${where}: there is no ${noun} "${word}"`, {
    hint: close === undefined ? `add the ${noun} to the file` : `did you mean ${close}?`,
  });
}

/** @throws {UsageError} when a role refers to a user or policy, or a tag to a role, that will not exist */
function checkReferences({ users, policies, roles, tags, trees }: RbacDocument, state: State, prune: boolean): void {
  const logins = listNames<{ login: string }>(users, state.users, prune, ({ login }) => login);
  const policyNames = listNames<{ name: string }>(policies, state.policies, prune, ({ name }) => name);
  const roleNames = listNames<{ name: string }>(roles, state.roles, prune, ({ name }) => name);
  for (const { name, members = [], default_members: defaults = [], policies: held = [] } of roles ?? []) {
    for (const member of [...members, ...defaults].map((word) => parseMember(word, false))) {
      if (member.type === 'subuser') requireKnown(logins, member.login, `roles: ${name}`, 'user');
    }
    for (const policy of held) requireKnown(policyNames, policy, `roles: ${name}`, 'policy');
  }
  for (const [part, named] of Object.entries({ tags, trees })) {
    for (const [path, names] of Object.entries(named ?? {}))
      for (const role of names) requireKnown(roleNames, role, `${part}: ${path}`, 'role');
  }
}

/** Current paths of deleted entities, whose tags are deleted with them. */
function listGone(changes: readonly Change[], state: State): string[] {
  return changes.flatMap(({ action, kind, name, step }) => {
    if (step.do === 'deleteKey') {
      if (step.returns) return [];
      const login = state.users.find(({ id }) => id === step.id)?.login ?? '';
      return [`users/${login}/keys/${step.fingerprint}`];
    }
    const collection = { user: 'users', policy: 'policies', role: 'roles', key: '', tags: '' }[kind];
    return action === 'delete' ? [`${collection}/${name}`] : [];
  });
}

function listDeletions(parts: readonly Part[]): Change[] {
  return parts.flatMap(({ early, changes, pruned }) => [...early, ...changes.filter(({ action }) => action === 'delete'), ...pruned]);
}

/**
 * The changes that make an account match a document, in an order in which each step can be done. Parts and fields that the document does
 * not mention are unchanged; with `prune`, entities that its parts do not mention are deleted.
 * @param tags current role tags by path; entries of the object storage without tags have an empty list
 * @throws {UsageError} for names and keys that contradict each other
 */
export function plan(document: RbacDocument, state: State, tags: Tags, prune: boolean): Change[] {
  checkReferences(document, state, prune);
  const users = planUsers(document, state, prune);
  const policies = planPolicies(document, state, prune);
  const roles = planRoles(document, state, prune, { users, policies });
  const others = [users, policies, roles];
  const gone = listGone(listDeletions(others), state);
  const kept = Object.entries(tags).filter(([path]) => !gone.some((each) => isAtOrBelow(path, each)));
  const listPaths = (): string[] => {
    const forecast = takeForecast(state, listTaggable(state), {});
    takeChanges(forecast, [...others.flatMap(({ early }) => early), ...others.flatMap((part) => [...part.changes, ...part.pruned])]);
    return forecast.resources.map(({ path }) => path);
  };
  const set = planTags(document, state, Object.fromEntries(kept), {
    renamings: { users: users.renamings, policies: policies.renamings, roles: roles.renamings },
    gone: new Set([...roles.early, ...roles.pruned].map(({ name }) => name)),
    prune,
    listPaths,
  });
  return [
    ...[roles, policies, users].flatMap(({ early }) => early),
    ...users.changes,
    ...policies.changes,
    ...roles.changes,
    ...set,
    ...[roles, policies, users].flatMap(({ pruned }) => pruned),
  ];
}
