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
