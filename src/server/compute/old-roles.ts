import type { Operation } from '../../api/operation.ts';
import type * as r from '../../api/resources.ts';
import type { Parameters } from '../http/read-parameters.ts';

/** The fields of a role in requests of API version 8 that version 9 does not have. */
export interface OldRole {
  /** Logins of the members that have the role active by default. */
  default_members?: readonly string[] | undefined;
}

/** Reads a list in any encoding: a form can express a list only as JSON, or by one or several values of the same name. */
function readList(value: unknown): unknown[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return value as unknown[];
  if (typeof value !== 'string' || !value.startsWith('[')) return [value];
  try {
    const parsed: unknown = JSON.parse(value);
    return Array.isArray(parsed) ? (parsed as unknown[]) : [value];
  } catch {
    return [value];
  }
}

/** Converts names to objects as in version 9. Anything that is not a string is kept, to be rejected by validation. */
function nameEach(value: unknown, field: 'login' | 'name'): { list?: unknown[] } {
  const list = readList(value)?.map((item) => (typeof item === 'string' ? { [field]: item } : item));
  return list === undefined ? {} : { list };
}

/** True for a name in a list of a role; a form has objects as JSON text, which validation reads. */
function isName(item: unknown): item is string {
  return typeof item === 'string' && !item.startsWith('{');
}

/**
 * Accepts names in the lists of a version 9 role, as in version 8: published clients send the names of a document in this form, whatever
 * the version. A name means a sub-user. Objects are kept and validated by the rules of version 9, in which `default_members` is an unknown
 * field: it counts only if no member is an object.
 */
export function readNamesOfRole({ fields }: Operation, parameters: Parameters): Parameters {
  if (fields['default_members'] === undefined) return parameters;
  const { members, policies, default_members: defaults, ...rest } = parameters;
  const memberList = readList(members);
  const policyList = readList(policies);
  return {
    ...rest,
    ...(memberList && { members: memberList.map((item) => (isName(item) ? { type: 'subuser', login: item } : item)) }),
    ...(policyList && { policies: policyList.map((item) => (isName(item) ? { name: item } : item)) }),
    ...((memberList ?? []).every(isName) && { default_members: defaults }),
  };
}

/**
 * Converts a role from the form of API version 8, where members and policies are names and default members are listed separately, to that
 * of version 9. Other operations have no old form.
 */
export function readOldRole({ fields }: Operation, parameters: Parameters): { current: Parameters; old: OldRole } {
  if (fields['default_members'] === undefined) return { current: parameters, old: {} };
  const { members, policies, default_members: defaults, ...rest } = parameters;
  const [memberList, policyList] = [nameEach(members, 'login').list, nameEach(policies, 'name').list];
  const current = { ...rest, ...(memberList && { members: memberList }), ...(policyList && { policies: policyList }) };
  return { current, old: { default_members: readList(defaults)?.map(String) } };
}

/** A role as API version 8 shows it: only sub-users are members in that version. */
export function showOldRole({ id, name, policies = [], members: all = [] }: r.Role): Record<string, unknown> {
  const members = all.filter(({ type }) => type !== 'account');
  const logins = (list: typeof members): string[] => list.flatMap(({ login }) => login ?? []);
  return {
    id,
    name,
    members: logins(members),
    default_members: logins(members.filter((member) => member.default === true)),
    policies: policies.flatMap((policy) => policy.name ?? []),
  };
}
