import type { Context } from '../cli/command.ts';
import type { CallerRole, DecisionCaller } from '../policy/decide.ts';
import { NotFoundError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { RbacDocument } from './document.ts';
import { pickUser } from '../lookup/find.ts';
import { listRoles, parseMember, type Role } from '../lookup/role.ts';
import { findTags, type Resource } from '../lookup/resource.ts';
import type { Served } from '../lookup/served.ts';
import { findTree } from './tree.ts';

/** The access control of an account or a document, as far as decisions use it. */
export interface Access {
  users: readonly { id: string; login: string }[];
  roles: readonly Pick<Role, 'name' | 'members' | 'policies'>[];
  policies: readonly { id?: string | undefined; name: string; rules: readonly string[] }[];
  /** Role tags of a resource; undefined when it does not exist. */
  findTags: (resource: Resource) => Promise<readonly string[] | undefined>;
  /** The service that it was read from; absent for a document. */
  served?: Served;
}

/** Reads the access control of the account. */
export async function readAccess(context: Context): Promise<Access> {
  const { compute, account } = context;
  const [users, { roles, served }, policies] = await Promise.all([
    compute.listUsers({ account }),
    listRoles(context),
    compute.listPolicies({ account }),
  ]);
  return { users, roles, policies, served, findTags: (resource) => findTags(context, resource) };
}

/** Treats a document as an account; anything that it does not mention does not exist. */
export function takeAccess({ users = [], roles = [], policies = [], tags = {}, trees = {} }: RbacDocument): Access {
  return {
    users: users.map(({ id, login }) => ({ id: id ?? login, login })),
    roles: roles.map(({ name, members = [], default_members: defaults = [], policies: names = [] }) => ({
      name,
      members: [
        ...members.filter((word) => !defaults.includes(word)).map((word) => parseMember(word, false)),
        ...defaults.map((word) => parseMember(word, true)),
      ],
      policies: names.map((policy) => ({ name: policy })),
    })),
    policies,
    findTags: ({ path }) => Promise.resolve(tags[path] ?? findTree(trees, path) ?? []),
  };
}

/** Resolves a word to a caller: a sub-user, the account itself, or `account:LOGIN`. @throws {NotFoundError} when no caller matches */
export function findCaller({ users }: Access, word: string, account: string): DecisionCaller {
  const other = /^account:(.+)$/.exec(word)?.[1];
  if (other !== undefined && other !== account) return { kind: 'other-account', login: other };
  const user = pickUser(users, word);
  if (user) return { kind: 'user', login: user.login };
  if (word === account || other === account) return { kind: 'account', login: account };
  const close = nearest(
    word,
    users.map(({ login }) => login),
  );
  throw new NotFoundError(`user "${word}" does not exist`, { hint: close === undefined ? 'cloud users list' : `did you mean ${close}?` });
}

/** The roles as seen by a caller, with the rules of their policies. */
export function listCallerRoles({ roles, policies }: Access, caller: DecisionCaller): CallerRole[] {
  const type = caller.kind === 'user' ? 'subuser' : 'account';
  return roles.map(({ name, members, policies: held }) => {
    const own = members.find((member) => member.type === type && member.login === caller.login);
    return {
      name,
      membership: own === undefined ? 'none' : own.default ? 'default' : 'member',
      policies: held.map((policy) => ({
        name: policy.name,
        rules: policies.find(({ id, name }) => (policy.id === undefined ? name === policy.name : id === policy.id))?.rules ?? [],
      })),
    };
  });
}
