import type { Operation } from '../../api/operation.ts';
import type * as r from '../../api/resources.ts';
import type { Parameters } from '../http/read-parameters.ts';

/** What a request of API version 8 says of a role beside the fields of version 9. */
export interface OldRole {
  /** Logins of the members that have the role active by default. */
  default_members?: readonly string[] | undefined;
}

/** A list in any encoding: a form can only say it in JSON, or by one value or several of one name. */
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

/** Names as version 9 writes them; whatever is no name is left to be refused. */
function nameEach(value: unknown, field: 'login' | 'name'): { list?: unknown[] } {
  const list = readList(value)?.map((item) => (typeof item === 'string' ? { [field]: item } : item));
  return list === undefined ? {} : { list };
}

/**
 * Takes names in the lists of a role of version 9 as version 8 has them: published clients send those of a document so, whatever the version. A name
 * means a sub-user. Records are left as they are, to be judged by the rules of version 9.
 */
export function readNamesOfRole({ fields }: Operation, parameters: Parameters): Parameters {
  if (fields['default_members'] === undefined) return parameters;
  const { members, policies, ...rest } = parameters;
  const replace = (value: unknown, describe: (name: string) => object): unknown =>
    Array.isArray(value) ? value.map((item: unknown) => (typeof item === 'string' ? describe(item) : item)) : value;
  return {
    ...rest,
    ...(members !== undefined && { members: replace(members, (login) => ({ type: 'subuser', login })) }),
    ...(policies !== undefined && { policies: replace(policies, (name) => ({ name })) }),
  };
}

/**
 * Takes a role in the form of API version 8, where members and policies are names and default members stand apart, as one of version 9.
 * Other operations have no old form.
 */
export function readOldRole({ fields }: Operation, parameters: Parameters): { current: Parameters; old: OldRole } {
  if (fields['default_members'] === undefined) return { current: parameters, old: {} };
  const { members, policies, default_members: defaults, ...rest } = parameters;
  const [memberList, policyList] = [nameEach(members, 'login').list, nameEach(policies, 'name').list];
  const current = { ...rest, ...(memberList && { members: memberList }), ...(policyList && { policies: policyList }) };
  return { current, old: { default_members: readList(defaults)?.map(String) } };
}

/** A role as API version 8 shows it: members of other kinds than sub-users have no place in it. */
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
