import type { compute } from './compute.ts';

/** The path component after the account, for all operations of the compute service. */
type FirstOf<Path extends string> = Path extends `${infer First}/${string}` ? First : Path;
type NameBelow<Path extends string> = Path extends `/:account/${infer Rest}` ? FirstOf<Rest> : never;
type Served = NameBelow<(typeof compute)[keyof typeof compute]['path']>;

/**
 * The collections that can be tagged, both as a whole and each member (compute-decisions, "Roles, policies, tags, access"). Account settings
 * are none: the account's tags control access to them. Some collections have no operations.
 */
export type Collection = Exclude<Served, 'config' | 'limits' | `${':' | '*'}${string}`> | 'machines' | 'fwrules' | 'networks';

const known: Readonly<Record<Collection, true>> = {
  machines: true,
  users: true,
  roles: true,
  packages: true,
  images: true,
  policies: true,
  keys: true,
  datacenters: true,
  services: true,
  fwrules: true,
  networks: true,
};

/** Names of the collections that can be tagged. */
export const collections: readonly string[] = Object.keys(known);

/** True for the path of a resource that can be tagged: the account, a collection, a member, keys of a sub-user. @param parts below the account */
export function isResourcePath([collection, member, inner, ...more]: readonly string[]): boolean {
  if (collection === undefined) return true;
  if (!collections.includes(collection) || more.length > 1) return false;
  return inner === undefined || (member !== undefined && collection === 'users' && inner === 'keys');
}
