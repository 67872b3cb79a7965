import type { Key } from '../api/resources.ts';
import { computeMd5 } from '../base/fingerprint.ts';
import type { Context } from '../cli/command.ts';
import type { CallerRole, DecisionCaller } from '../policy/decide.ts';
import { NotFoundError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { RbacDocument } from './document.ts';
import { pickUser } from '../lookup/find.ts';
import { listRoles, parseMember, type Role } from '../lookup/role.ts';
import { findTags, type Resource } from '../lookup/resource.ts';
import type { Served } from '../lookup/served.ts';
import { listPaths, orderPackages, type Member, type Members } from './paths.ts';
import { findTree } from './tree.ts';

/** The access control of an account or a document, as far as decisions use it. */
export interface Access {
  users: readonly { id: string; login: string }[];
  roles: readonly Pick<Role, 'name' | 'members' | 'policies'>[];
  policies: readonly { id?: string | undefined; name: string; rules: readonly string[] }[];
  /** Role tags of a resource; undefined when it does not exist. */
  findTags: (resource: Pick<Resource, 'path'>) => Promise<readonly string[] | undefined>;
  /** All paths of a resource, with names and with ids. */
  listPaths: (resource: Pick<Resource, 'path'>) => Promise<readonly string[]>;
  /** The service that it was read from; absent for a document. */
  served?: Served;
}

/** Keys in the form in which paths name them. */
function nameKeys(keys: readonly Key[]): Member[] {
  return keys.map(({ name, fingerprint }) => ({ id: fingerprint, name }));
}

/** Reads all paths of an existing resource; keys and packages are requested only if the path names one. */
async function readPaths(
  { compute, account }: Context,
  path: string,
  { users, roles, policies }: Pick<Members, 'users' | 'roles' | 'policies'>,
): Promise<string[]> {
  const [collection, word, , key] = path.split('/');
  const isKey = collection === 'keys' && word !== undefined;
  const keys = isKey
    ? await compute.listKeys({ account })
    : key !== undefined && word !== undefined
      ? await compute.listUserKeys({ account, user: word })
      : [];
  const packages = collection === 'packages' && word !== undefined ? await compute.listPackages({ account }) : [];
  const named = nameKeys(keys);
  return listPaths(path, { users, roles, policies, packages: orderPackages(packages), listKeys: () => named });
}

/** Reads the access control of the account. */
export async function readAccess(context: Context): Promise<Access> {
  const { compute, account } = context;
  const [users, { roles, served }, policies] = await Promise.all([
    compute.listUsers({ account }),
    listRoles(context),
    compute.listPolicies({ account }),
  ]);
  const members = { users: users.map(({ id, login }) => ({ id, name: login })), roles, policies };
  return {
    users,
    roles,
    policies,
    served,
    findTags: (resource) => findTags(context, resource),
    listPaths: ({ path }) => readPaths(context, path, members),
  };
}

/** The members that a document mentions; one without an id has only its name. */
function takeMembers({ users = [], roles = [], policies = [] }: RbacDocument): Members {
  const identify = <T extends { id?: string | undefined }>(entries: readonly T[], nameOf: (entry: T) => string): Member[] =>
    entries.map((entry) => ({ id: entry.id ?? nameOf(entry), name: nameOf(entry) }));
  const nameOf = ({ name }: { name: string }): string => name;
  return {
    users: identify(users, ({ login }) => login),
    roles: identify(roles, nameOf),
    policies: identify(policies, nameOf),
    packages: [],
    listKeys: (user) => {
      const { login = '', keys = [] } = users.find(({ id, login: own }) => user !== undefined && user === (id ?? own)) ?? {};
      return keys.map(({ name, key }) => {
        const fingerprint = computeMd5(key, login);
        return { id: fingerprint, name: name ?? fingerprint };
      });
    },
  };
}

/** Treats a document as an account; anything that it does not mention does not exist. */
export function takeAccess(document: RbacDocument): Access {
  const { users = [], roles = [], policies = [], tags = {}, trees = {} } = document;
  const list = ({ path }: Pick<Resource, 'path'>): string[] => listPaths(path, takeMembers(document));
  const findOne = (path: string): readonly string[] | undefined => tags[path] ?? findTree(trees, path);
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
    findTags: (resource) =>
      Promise.resolve(
        list(resource)
          .map(findOne)
          .find((found) => found !== undefined) ?? [],
      ),
    listPaths: (resource) => Promise.resolve(list(resource)),
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
export function listCallerRoles({ roles, policies }: Pick<Access, 'roles' | 'policies'>, caller: DecisionCaller): CallerRole[] {
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
