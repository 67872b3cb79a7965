import type { Policy } from '../api/resources.ts';
import { compareFields, type Change, type Difference } from './change.ts';
import type { PolicyDocument, RbacDocument, RoleDocument } from './document.ts';
import type { Pair } from './match.ts';
import { planPart, type Part } from './plan-part.ts';
import { parseMember, printMember, type Role } from '../lookup/role.ts';
import type { State } from './state.ts';

const keep = (name: string): string => name;

function settlePolicy({ wanted, existing }: Pair<PolicyDocument, Policy>): Change[] {
  const { id: _id, ...fields } = wanted;
  const differences = compareFields(fields, { ...existing });
  if (!existing)
    return [{ action: 'create', kind: 'policy', name: wanted.name, differences, step: { do: 'createPolicy', policy: wanted } }];
  if (differences.length === 0) return [];
  const changed = Object.fromEntries(differences.map(({ field, to }) => [field, to]));
  return [
    { action: 'update', kind: 'policy', name: existing.name, differences, step: { do: 'updatePolicy', id: existing.id, fields: changed } },
  ];
}

/** The changes of policies. */
export function planPolicies({ policies }: RbacDocument, state: State, prune: boolean): Part {
  return planPart({
    noun: 'policy',
    wanted: policies,
    existing: state.policies,
    fold: keep,
    prune,
    field: 'name',
    rename: (id, name) => ({ do: 'updatePolicy', id, fields: { name } }),
    remove: (id) => ({ do: 'deletePolicy', id }),
    settle: settlePolicy,
  });
}

/** Normalizes members and policies: sorted, without duplicates. A member in both lists is a default member. */
function foldRole({ name, members, default_members: defaults, policies }: Omit<RoleDocument, 'id'>): Record<string, unknown> {
  const sort = (words: readonly string[]): string[] => [...new Set(words)].toSorted();
  const byDefault = defaults && sort(defaults.map((word) => printMember(parseMember(word, true))));
  return {
    name,
    default_members: byDefault,
    members:
      members && sort(members.map((word) => printMember(parseMember(word, false))).filter((word) => byDefault?.includes(word) !== true)),
    policies: policies && sort(policies),
  };
}

/** Users and policies that earlier steps delete or rename; roles refer to them by their old names. */
interface RenamedBy {
  users: Pick<Part, 'early' | 'renamings'>;
  policies: Pick<Part, 'early' | 'renamings'>;
}

function isGone({ early }: Pick<Part, 'early'>, name: string): boolean {
  return early.some((change) => change.name === name);
}

/** A role with all its fields. */
interface FullRole {
  name: string;
  default_members: string[];
  members: string[];
  policies: string[];
}

/** A role after users and policies have been renamed or deleted. */
function describeRole(role: Role, { users, policies }: RenamedBy): FullRole {
  const members = role.members
    .filter(({ type, login }) => type !== 'subuser' || !isGone(users, login))
    .map((member) => (member.type === 'subuser' ? { ...member, login: users.renamings.get(member.login) ?? member.login } : member));
  const pick = (isDefault: boolean): string[] => members.filter((member) => member.default === isDefault).map(printMember);
  return {
    name: role.name,
    default_members: pick(true),
    members: pick(false),
    policies: role.policies.filter(({ name }) => !isGone(policies, name)).map(({ name }) => policies.renamings.get(name) ?? name),
  };
}

/** False for an empty list in place of an absent one, which is no difference. */
function isReal({ from, to }: Difference): boolean {
  return JSON.stringify(from ?? []) !== JSON.stringify(to);
}

/** A list of members that the document does not mention is left out of the step; its current value is read when the step is done. */
function settleRole({ wanted, existing }: Pair<RoleDocument, Role>, renamed: RenamedBy): Change[] {
  const { id: _id, ...rest } = wanted;
  const fields = foldRole(rest);
  const is = existing && describeRole(existing, renamed);
  const differences = compareFields(fields, is ? foldRole(is) : {}).filter(isReal);
  if (!existing || !is) {
    return [{ action: 'create', kind: 'role', name: wanted.name, differences, step: { do: 'createRole', role: wanted } }];
  }
  if (differences.length === 0) return [];
  const changed = new Set(differences.map(({ field }) => field));
  const movesMembers = changed.has('members') || changed.has('default_members');
  const full = fields as Partial<FullRole>;
  const step = {
    do: 'updateRole' as const,
    id: existing.id,
    fields: {
      ...(changed.has('name') && { name: wanted.name }),
      ...(movesMembers && full.members && { members: full.members }),
      ...(movesMembers && full.default_members && { default_members: full.default_members }),
      ...(changed.has('policies') && { policies: full.policies }),
    },
  };
  return [{ action: 'update', kind: 'role', name: existing.name, differences, step }];
}

/** The changes of roles. */
export function planRoles({ roles }: RbacDocument, state: State, prune: boolean, renamed: RenamedBy): Part {
  return planPart({
    noun: 'role',
    wanted: roles,
    existing: state.roles,
    fold: keep,
    prune,
    field: 'name',
    rename: (id, name) => ({ do: 'updateRole', id, fields: { name } }),
    remove: (id) => ({ do: 'deleteRole', id }),
    settle: (pair) => settleRole(pair, renamed),
  });
}
