import type { Image, Key, Package, Policy, User } from '../api/resources.ts';
import type { Context } from '../cli/command.ts';
import { isSameLogin } from '../lookup/find.ts';
import { mapInParallel } from '../base/parallel.ts';
import { collections } from '../api/collections.ts';
import { findTags } from '../lookup/resource.ts';
import { listRoles, type Role } from '../lookup/role.ts';
import type { Served } from '../lookup/served.ts';
import type { RbacDocument } from './document.ts';
import { isStoragePath } from './tree.ts';

/** Concurrent requests. */
const parallel = 8;

/** The current access control of an account. */
export interface State {
  users: (User & { keys: Key[] })[];
  policies: Policy[];
  roles: Role[];
  /** Other entities whose names may occur in paths of role tags. */
  keys: Key[];
  images: Image[];
  packages: Package[];
  datacenters: string[];
  /** True if the service uses the old form of roles. */
  isOld: boolean;
  served: Served;
}

/** Reads users with their keys, policies and roles; with `others` also all other entities that can be tagged. */
export async function readState(context: Context, others: boolean): Promise<State> {
  const { compute, account } = context;
  const [users, policies, { roles, isOld, served }] = await Promise.all([
    compute.listUsers({ account }),
    compute.listPolicies({ account }),
    listRoles(context),
  ]);
  const withKeys = await mapInParallel(users, parallel, async (user) => ({
    ...user,
    keys: await compute.listUserKeys({ account, user: user.id }),
  }));
  const [keys, images, packages, datacenters] = others
    ? await Promise.all([
        compute.listKeys({ account }),
        compute.listImages({ account, state: 'all' }),
        compute.listPackages({ account }),
        compute.listDatacenters({ account }),
      ])
    : [[], [], [], {}];
  return { users: withKeys, policies, roles, isOld, served, keys, images, packages, datacenters: Object.keys(datacenters) };
}

/** Normalized paths of all resources whose role tags can be read. */
export function listTaggable({ users, policies, roles, keys, images, packages, datacenters }: State): string[] {
  return [
    'account',
    ...collections,
    ...keys.map(({ fingerprint }) => `keys/${fingerprint}`),
    ...users.flatMap(({ login, keys }) => [
      `users/${login}`,
      `users/${login}/keys`,
      ...keys.map(({ fingerprint }) => `users/${login}/keys/${fingerprint}`),
    ]),
    ...policies.map(({ name }) => `policies/${name}`),
    ...roles.map(({ name }) => `roles/${name}`),
    ...images.map(({ id }) => `images/${id}`),
    ...packages.map(({ id }) => `packages/${id}`),
    ...datacenters.map((name) => `datacenters/${name}`),
  ];
}

function pickOne<T>(items: readonly T[], fits: (item: T) => boolean): T | undefined {
  const [found, ...more] = items.filter(fits);
  return more.length > 0 ? undefined : found;
}

function findKeyName(keys: readonly Key[], word: string): string {
  return pickOne(keys, ({ name, fingerprint }) => fingerprint === word.toLowerCase() || name === word)?.fingerprint ?? word;
}

function findImageId(images: readonly Image[], word: string): string {
  const named = images.filter(({ name, version }) => `${name}@${version}` === word || name === word);
  const newest = named.toSorted((a, b) => (a.published_at ?? '').localeCompare(b.published_at ?? '')).at(-1);
  return newest?.id ?? word;
}

/**
 * Normalizes a path of role tags: keys by fingerprint, images and packages by id, users by login, roles and policies by name. Names that
 * the account does not have stay unchanged.
 */
export function normalizePath(path: string, { users, policies, roles, keys, images, packages }: State): string {
  const [collection, name, below, ...rest] = path.split('/');
  if (name === undefined) return path;
  const user = users.find(({ id, login }) => id === name || isSameLogin(login, name));
  const known: Readonly<Record<string, () => string | undefined>> = {
    users: () => user?.login,
    policies: () => policies.find(({ id }) => id === name)?.name,
    roles: () => roles.find(({ id }) => id === name)?.name,
    keys: () => findKeyName(keys, name),
    images: () => findImageId(images, name),
    packages: () => pickOne(packages, (each) => each.name === name)?.id,
  };
  const inner = rest.map((word) => findKeyName(user?.keys ?? [], word));
  const parts = [collection, known[collection ?? '']?.() ?? name, ...(below === undefined ? [] : [below]), ...inner];
  return parts.join('/');
}

/** Normalized paths that a document mentions, without those of the object storage. */
export function listMentioned(document: Pick<RbacDocument, 'tags' | 'trees'> | undefined, state: State): string[] {
  const paths = Object.keys({ ...document?.tags, ...document?.trees }).filter((path) => !isStoragePath(path));
  return [...new Set(paths.map((path) => normalizePath(path, state)))];
}

/** The path as requests use it: policies by id. @param policies names by id */
export function toRequestPath(path: string, policies: ReadonlyMap<string, string>): string {
  const [collection, word] = path.split('/');
  const found = collection === 'policies' ? [...policies].find(([, name]) => name === word) : undefined;
  return found === undefined ? path : `policies/${found[0]}`;
}

/** Role tags by path, for normalized paths; resources that do not exist or have no tags are omitted. */
export async function readTags(context: Context, paths: readonly string[], { policies }: State): Promise<Record<string, string[]>> {
  const names = new Map(policies.map(({ id, name }) => [id, name]));
  const found = await mapInParallel(paths, parallel, async (path): Promise<[string, string[]]> => {
    return [path, (await findTags(context, { path: toRequestPath(path, names) })) ?? []];
  });
  return Object.fromEntries(found.filter(([, tags]) => tags.length > 0).map(([path, tags]) => [path, tags.toSorted()]));
}
