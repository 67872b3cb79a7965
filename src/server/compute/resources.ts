import type { Kysely } from 'kysely';
import { isResourcePath, type Collection } from '../../api/collections.ts';
import type { Operation } from '../../api/operation.ts';
import { findUser, listKeysOf, selectKeys } from '../access/accounts.ts';
import type { Call } from '../http/handler.ts';
import { fillPath } from '../http/match.ts';
import type { PackageRow, Schema, UserRow } from '../store/schema.ts';
import { findId } from './names.ts';

/** The resource in a path of the compute service, and where its role tags are stored. */
export interface Resource {
  readonly kind: 'account' | 'collection' | 'member';
  /** Value of `role_tags.resource`; undefined if there is no such member. */
  readonly key: string | undefined;
  /** Key of the collection that the member is in, or would be in. */
  readonly collection: string;
}

type Db = Kysely<Schema>;
/** The account whose resources are looked up, and the images of the datacenter that serves the request. */
type Place = Pick<Call, 'account' | 'findImage'>;
/** Returns the immutable identifier of the member of a collection with this name or id; undefined if there is none. */
type Find = (db: Db, place: Place, name: string) => Promise<string | undefined>;

function findKey(user: UserRow | undefined): Find {
  return async (db, { account }, name) => selectKeys(await listKeysOf(db, account, user), name)[0]?.fingerprint;
}

function findOwn(table: 'roles' | 'policies'): Find {
  return (db, { account }, word) => findId(db, table, account, word);
}

function findNamed(table: 'datacenters' | 'services'): Find {
  return async (db, _, name) => (await db.selectFrom(table).select('name').where('name', '=', name).executeTakeFirst())?.name;
}

const findMachine: Find = async (db, { account }, id) =>
  (await db.selectFrom('machines').select('id').where('account', '=', account.id).where('id', '=', id.toLowerCase()).executeTakeFirst())
    ?.id;

const findNetwork: Find = async (db, _, id) =>
  (await db.selectFrom('networks').select('id').where('id', '=', id.toLowerCase()).executeTakeFirst())?.id;

/** Finds a package by id or name; of several versions of a name, the highest. */
export async function findPackage(db: Kysely<Schema>, word: string): Promise<PackageRow | undefined> {
  const byId = await db.selectFrom('packages').selectAll().where('id', '=', word.toLowerCase()).executeTakeFirst();
  if (byId !== undefined) return byId;
  const named = await db.selectFrom('packages').selectAll().where('name', '=', word).execute();
  return named.toSorted((left, right) => left.version.localeCompare(right.version, 'en', { numeric: true })).at(-1);
}

/** How the members of each collection are found. */
const collections: Readonly<Record<Collection, Find>> = {
  machines: findMachine,
  users: async (db, { account }, name) => (await findUser(db, account, name))?.id,
  roles: findOwn('roles'),
  packages: async (db, _, word) => (await findPackage(db, word))?.id,
  images: async (db, { account, findImage }, id) => (await findImage(db, account, id))?.id,
  policies: findOwn('policies'),
  keys: findKey(undefined),
  datacenters: findNamed('datacenters'),
  services: findNamed('services'),
  // There are no firewall rules, because no operation creates them.
  fwrules: async () => undefined,
  networks: findNetwork,
};

async function findUserKeys(db: Db, place: Place, parts: readonly string[]): Promise<Resource> {
  const [, name = '', , key] = parts;
  const user = await findUser(db, place.account, name);
  if (user === undefined) return { kind: 'member', key: undefined, collection: 'users' };
  const collection = `users/${user.id}/keys`;
  if (key === undefined) return { kind: 'collection', key: collection, collection };
  const id = await findKey(user)(db, place, key);
  return { kind: 'member', key: id === undefined ? undefined : `${collection}/${id}`, collection };
}

/** Finds the resource of a path below an account; undefined if the path is not one of a resource. */
export async function findResource(db: Db, place: Place, parts: readonly string[]): Promise<Resource | undefined> {
  const [collection, name, inner] = parts;
  if (collection === undefined) return { kind: 'account', key: '', collection: '' };
  const find = Object.entries(collections).find(([known]) => known === collection)?.[1];
  if (find === undefined || !isResourcePath(parts)) return undefined;
  if (inner !== undefined) return findUserKeys(db, place, parts);
  if (name === undefined) return { kind: 'collection', key: collection, collection };
  const id = await find(db, place, name);
  return { kind: 'member', key: id === undefined ? undefined : `${collection}/${id}`, collection };
}

/** Path components, below the account, of the resource that controls access to an operation. */
export function locateResource(operation: Operation, inputs: Readonly<Record<string, string>>): string[] {
  const { resource } = operation;
  if (resource === 'input') return (inputs['resource'] ?? '').split('/').slice(1);
  if (resource === 'account') return [];
  const parts = fillPath(operation, inputs);
  return resource === 'parent' ? parts.slice(0, -1) : parts;
}
