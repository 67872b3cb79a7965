import type { Kysely } from 'kysely';
import { isResourcePath, type Collection } from '../../api/collections.ts';
import type { Operation } from '../../api/operation.ts';
import { findUser, listKeysOf, selectKeys } from '../access/accounts.ts';
import type { Call } from '../http/handler.ts';
import { fillPath } from '../http/match.ts';
import type { PackageRow, Schema, UserRow } from '../store/schema.ts';
import { findOwn } from './names.ts';

/** The resource in a path of the compute service, and where its role tags are stored. */
export interface Resource {
  readonly kind: 'account' | 'collection' | 'member';
  /** Value of `role_tags.resource`; undefined if there is no such member. */
  readonly key: string | undefined;
  /** Key of the collection that the member is in, or would be in. */
  readonly collection: string;
  /**
   * All paths of the resource below the account, with names and with ids, independent of how the path writes them; the path alone if
   * nothing is there.
   */
  readonly listPaths: () => Promise<string[]>;
}

type Db = Kysely<Schema>;
/** The account whose resources are looked up, and the images of the datacenter that serves the request. */
type Place = Pick<Call, 'account' | 'findImage'>;
/** A member of a collection, as far as requests name it. */
interface Member {
  /** Immutable. */
  readonly id: string;
  /** The other word for it in paths, if there is one. */
  readonly name?: string;
}
/** Finds the member of a collection with this name or id. */
type Find = (db: Db, place: Place, word: string) => Promise<Member | undefined>;

function findKey(user: UserRow | undefined): Find {
  return async (db, { account }, word) => {
    const key = selectKeys(await listKeysOf(db, account, user), word)[0];
    return key && { id: key.fingerprint, name: key.name };
  };
}

function findIn(table: 'roles' | 'policies'): Find {
  return (db, { account }, word) => findOwn(db, table, account, word);
}

function findNamed(table: 'datacenters' | 'services'): Find {
  return async (db, _, name) => db.selectFrom(table).select('name as id').where('name', '=', name).executeTakeFirst();
}

const findMachine: Find = async (db, { account }, id) =>
  db.selectFrom('machines').select('id').where('account', '=', account.id).where('id', '=', id.toLowerCase()).executeTakeFirst();

const findNetwork: Find = async (db, _, id) => db.selectFrom('networks').select('id').where('id', '=', id.toLowerCase()).executeTakeFirst();

const findMember: Find = async (db, { account }, word) => {
  const user = await findUser(db, account, word);
  return user && { id: user.id, name: user.login };
};

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
  users: findMember,
  roles: findIn('roles'),
  packages: async (db, _, word) => findPackage(db, word),
  images: async (db, { account, findImage }, id) => {
    const image = await findImage(db, account, id);
    return image && { id: image.id };
  },
  policies: findIn('policies'),
  keys: findKey(undefined),
  datacenters: findNamed('datacenters'),
  services: findNamed('services'),
  // There are no firewall rules, because no operation creates them.
  fwrules: async () => undefined,
  networks: findNetwork,
};

/** The words for a member in paths: its name, unless that is the word for another member, and its id. @param word by which it was found */
async function listWords(find: Find, db: Db, place: Place, { id, name = id }: Member, word: string): Promise<string[]> {
  const isOwnName = name === id || name === word || (await find(db, place, name))?.id === id;
  return isOwnName ? [...new Set([name, id])] : [id];
}

async function findUserKeys(db: Db, place: Place, parts: readonly string[]): Promise<Resource> {
  const [, name = '', , word] = parts;
  const user = await findUser(db, place.account, name);
  if (user === undefined) return { kind: 'member', key: undefined, collection: 'users', listPaths: async () => [parts.join('/')] };
  const collection = `users/${user.id}/keys`;
  const listFolders = async (): Promise<string[]> => {
    const words = await listWords(findMember, db, place, { id: user.id, name: user.login }, name);
    return words.map((each) => `users/${each}/keys`);
  };
  if (word === undefined) return { kind: 'collection', key: collection, collection, listPaths: listFolders };
  const find = findKey(user);
  const key = await find(db, place, word);
  const listPaths = async (): Promise<string[]> => {
    const [folders, words] = [await listFolders(), key === undefined ? [word] : await listWords(find, db, place, key, word)];
    return folders.flatMap((folder) => words.map((each) => `${folder}/${each}`));
  };
  return { kind: 'member', key: key && `${collection}/${key.id}`, collection, listPaths };
}

/** Finds the resource of a path below an account; undefined if the path is not one of a resource. */
export async function findResource(db: Db, place: Place, parts: readonly string[]): Promise<Resource | undefined> {
  const [collection, word, inner] = parts;
  const listPaths = async (): Promise<string[]> => [parts.join('/')];
  if (collection === undefined) return { kind: 'account', key: '', collection: '', listPaths };
  const find = Object.entries(collections).find(([known]) => known === collection)?.[1];
  if (find === undefined || !isResourcePath(parts)) return undefined;
  if (inner !== undefined) return findUserKeys(db, place, parts);
  if (word === undefined) return { kind: 'collection', key: collection, collection, listPaths };
  const member = await find(db, place, word);
  if (member === undefined) return { kind: 'member', key: undefined, collection, listPaths };
  const listNames = async (): Promise<string[]> => (await listWords(find, db, place, member, word)).map((each) => `${collection}/${each}`);
  return { kind: 'member', key: `${collection}/${member.id}`, collection, listPaths: listNames };
}

/** Path components, below the account, of the resource that controls access to an operation. */
export function locateResource(operation: Operation, inputs: Readonly<Record<string, string>>): string[] {
  const { resource } = operation;
  if (resource === 'input') return (inputs['resource'] ?? '').split('/').slice(1);
  if (resource === 'account') return [];
  const parts = fillPath(operation, inputs);
  return resource === 'parent' ? parts.slice(0, -1) : parts;
}
