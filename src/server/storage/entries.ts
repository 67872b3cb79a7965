import { sql, type Kysely, type Transaction } from 'kysely';
import { ApiError } from '../../errors.ts';
import type { EntryRow, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { parentOf, placeOf, roots, type Place } from './paths.ts';

/** Most entries in a directory. */
const childrenLimit = 1_000_000;

/** An entry that is about to be written, as it is now, and the directory that holds it. */
export interface Found {
  parent: EntryRow;
  entry: EntryRow | undefined;
}

/** What an entry consists of apart from its place. */
export type EntryValues = Omit<EntryRow, 'parent' | 'name' | 'children'>;

/** The entry at a place. */
export function findEntry(db: Kysely<Schema>, place: Place): Promise<EntryRow | undefined> {
  return db.selectFrom('entries').selectAll().where('parent', '=', place.parent).where('name', '=', place.name).executeTakeFirst();
}

/** The entry at a place. @throws 404 `ResourceNotFound`. */
export async function requireEntry(db: Kysely<Schema>, place: Place): Promise<EntryRow> {
  const entry = await findEntry(db, place);
  if (!entry) throw new ApiError(404, 'ResourceNotFound', `${place.path} does not exist`);
  return entry;
}

/** The entry and its parent, for writing. @throws 404 `DirectoryDoesNotExist`, 400 `ParentNotDirectory`, 409 `DirectoryLimitExceeded`. */
export async function findForWriting(db: Kysely<Schema>, place: Place): Promise<Found> {
  const above = parentOf(place);
  const parent = above && (await findEntry(db, above));
  if (!parent) throw new ApiError(404, 'DirectoryDoesNotExist', `${place.parent} does not exist: create the directory first`);
  if (parent.type !== 'directory') throw new ApiError(400, 'ParentNotDirectory', `${place.parent} is not a directory`);
  const entry = await findEntry(db, place);
  if (!entry && parent.children >= childrenLimit) {
    throw new ApiError(409, 'DirectoryLimitExceeded', `${place.parent} has ${parent.children} entries, and cannot have more`);
  }
  return { parent, entry };
}

/** @throws 400 `OperationNotAllowedOnDirectory` when what an object is to replace is a directory. */
export function refuseDirectory(place: Place, entry: EntryRow | undefined): void {
  if (entry?.type !== 'directory') return;
  throw new ApiError(400, 'OperationNotAllowedOnDirectory', `${place.path} is a directory: an object cannot take its place`);
}

/** Writes an entry over the one found, or adds it and counts it in its parent. */
export async function putEntry(
  transaction: Transaction<Schema>,
  place: Place,
  found: EntryRow | undefined,
  values: EntryValues,
): Promise<void> {
  if (found) {
    await transaction.updateTable('entries').set(values).where('parent', '=', place.parent).where('name', '=', place.name).execute();
    return;
  }
  await transaction
    .insertInto('entries')
    .values({ parent: place.parent, name: place.name, children: 0, ...values })
    .execute();
  await countChildren(transaction, place, 1);
}

/** Removes an entry and takes it from its parent's count. */
export async function removeEntry(transaction: Transaction<Schema>, place: Place): Promise<void> {
  await transaction.deleteFrom('entries').where('parent', '=', place.parent).where('name', '=', place.name).execute();
  await countChildren(transaction, place, -1);
}

/** What an entry of type directory consists of. */
export function describeDirectory(now: number, { headers = '{}', roleTags = '[]' } = {}): EntryValues {
  return { type: 'directory', etag: null, mtime: now, size: null, md5: null, content: null, copies: null, headers, role_tags: roleTags };
}

/**
 * Makes a directory and those above it, where they are missing; each has the role tags of its parent.
 * @returns the role tags of the directory, as its row has them.
 */
export async function ensureDirectory(transaction: Transaction<Schema>, place: Place, now: number): Promise<string> {
  const found = await findEntry(transaction, place);
  if (found) return found.role_tags;
  const above = parentOf(place);
  const roleTags = above ? await ensureDirectory(transaction, above, now) : '[]';
  await putEntry(transaction, place, undefined, describeDirectory(now, { roleTags }));
  return roleTags;
}

/** Gives an account its directory and the roots in it: `stor`, `public`, `jobs`, `uploads`, `reports`. */
export async function createRoots(transaction: Transaction<Schema>, login: string, now: number): Promise<void> {
  for (const root of roots) await ensureDirectory(transaction, placeOf(login, root), now);
}

/** What is at a path below an account; undefined when nothing is. @throws 400 `InvalidResource` for paths that cannot be. */
export async function entryAt(store: Store, login: string, path: string): Promise<EntryRow['type'] | undefined> {
  const place = placeOf(login, path);
  if (place.parts.length === 0) return 'directory';
  return (await findEntry(store.db, place))?.type;
}

/** Adds to the number of entries that the parent's row keeps, so that no listing has to count. */
async function countChildren(transaction: Transaction<Schema>, place: Place, change: number): Promise<void> {
  const above = parentOf(place);
  if (!above) return;
  await transaction
    .updateTable('entries')
    .set({ children: sql`children + ${change}` })
    .where('parent', '=', above.parent)
    .where('name', '=', above.name)
    .execute();
}
