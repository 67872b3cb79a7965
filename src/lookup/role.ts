import { compute as operations } from '../api/compute.ts';
import type { Headers } from '../api/message.ts';
import type { Context } from '../cli/command.ts';
import { UsageError } from '../base/errors.ts';
import { isUuid } from '../base/uuid.ts';
import { readServed, type Served } from './served.ts';

/** A member of a role: a sub-user, or another account of the service. */
export interface Member {
  type: 'subuser' | 'account';
  id?: string;
  login: string;
  /** True if the role is active for the member without being requested. */
  default: boolean;
}

/** A role in the form that all commands use, independent of the API version. */
export interface Role {
  id: string;
  name: string;
  members: Member[];
  /** Logins of the members for whom the role is active by default, for display in lists. */
  default_members: string[];
  policies: { id?: string; name: string }[];
}

/** A policy of a role to write: a word that is an id if it is a whole UUID and else a name; or what is known to be a name. */
export type PolicyReference = string | { readonly name: string };

/** Fields of a role to create or update; lists are replaced as a whole. */
export interface RoleFields {
  name?: string | undefined;
  members?: readonly Member[] | undefined;
  policies?: readonly PolicyReference[] | undefined;
}

type Json = Readonly<Record<string, unknown>>;

function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function readText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function readMember(value: unknown, defaults: ReadonlySet<unknown>): Member {
  if (typeof value === 'string') return { type: 'subuser', login: value, default: defaults.has(value) };
  const { type, id, login, default: isDefault } = value as Json;
  return {
    type: type === 'account' ? 'account' : 'subuser',
    ...(typeof id === 'string' && { id }),
    login: readText(login),
    default: isDefault === true || defaults.has(login),
  };
}

function readPolicy(value: unknown): Role['policies'][number] {
  if (typeof value === 'string') return { name: value };
  const { id, name } = value as Json;
  return { ...(typeof id === 'string' && { id }), name: readText(name ?? id) };
}

/** Reads a role in the form of API version 9 or 8; in version 8, members and policies are lists of names. */
export function readRole(value: unknown): Role {
  const { id, name, members, default_members: defaults, policies } = value as Json;
  const read = readList(members).map((member) => readMember(member, new Set(readList(defaults))));
  return {
    id: readText(id),
    name: readText(name),
    members: read,
    default_members: read.filter((member) => member.default).map(({ login }) => login),
    policies: readList(policies).map(readPolicy),
  };
}

/** The roles of the account; `isOld` if the service uses the form of version 8. */
export interface RoleList {
  roles: Role[];
  isOld: boolean;
  served: Served;
}

/** A role; `isOld` if the service uses the form of version 8. */
export interface FoundRole {
  role: Role;
  isOld: boolean;
}

function isOldVersion(headers: Headers): boolean {
  return /^[78]\./.test(headers['api-version'] ?? '');
}

export async function listRoles({ compute, account }: Pick<Context, 'compute' | 'account'>): Promise<RoleList> {
  const { headers, value } = await compute.answer(operations.listRoles, { account });
  return { roles: value.map(readRole), isOld: isOldVersion(headers), served: readServed(headers) };
}

/** Gets a role by its whole id or name. */
export async function askRole({ compute, account }: Pick<Context, 'compute' | 'account'>, word: string): Promise<FoundRole> {
  const { headers, value } = await compute.answer(operations.getRole, { account, role: word });
  return { role: readRole(value), isOld: isOldVersion(headers) };
}

function writePolicy(policy: PolicyReference): { id: string } | { name: string } {
  if (typeof policy !== 'string') return policy;
  return isUuid(policy) ? { id: policy } : { name: policy };
}

function writeMember({ type, id, login, default: isDefault }: Member): object {
  return { type, ...(id === undefined ? { login } : { id }), default: isDefault };
}

/** The fields of a role for a request. @throws {UsageError} for a member that version 8 cannot express */
export function writeRole({ name, members, policies }: RoleFields, isOld: boolean): object {
  if (!isOld) {
    return {
      ...(name !== undefined && { name }),
      ...(policies && { policies: policies.map(writePolicy) }),
      ...(members && { members: members.map(writeMember) }),
    };
  }
  const account = members?.find(({ type }) => type === 'account');
  if (account) {
    throw new UsageError(`version 8 of the API has no members that are accounts (account:${account.login})`, {
      hint: 'ask for version 9: --api-version ~9',
    });
  }
  return {
    ...(name !== undefined && { name }),
    ...(policies && { policies: policies.map((policy) => (typeof policy === 'string' ? policy : policy.name)) }),
    ...(members && {
      members: members.map(({ login }) => login),
      default_members: members.filter((member) => member.default).map(({ login }) => login),
    }),
  };
}

/** A member as users write it: `alice`, or `account:other`. */
export function printMember({ type, login }: Pick<Member, 'type' | 'login'>): string {
  return type === 'account' ? `account:${login}` : login;
}

/** Parses `alice` or `account:other`. */
export function parseMember(word: string, isDefault: boolean): Member {
  const account = /^account:(.+)$/.exec(word)?.[1];
  return account === undefined
    ? { type: 'subuser', login: word, default: isDefault }
    : { type: 'account', login: account, default: isDefault };
}
