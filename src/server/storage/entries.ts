import { sql, type Kysely, type Transaction } from 'kysely';
import { ApiError } from '../../base/errors.ts';
import { prepareQuery } from '../store/prepared-query.ts';
import { rememberQuery } from '../store/remembered-query.ts';
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

type Key = Pick<EntryRow, 'parent' | 'name'>;

const selectEntry = rememberQuery(
  'entries',
  prepareQuery((db, { parent, name }: Key) =>
    db.selectFrom('entries').selectAll().where('parent', '=', parent).where('name', '=', name).compile(),
  ),
);

const updateEntry = prepareQuery((db, { parent, name, ...values }: Key & EntryValues) =>
  db.updateTable('entries').set(values).where('parent', '=', parent).where('name', '=', name).compile(),
);

const insertEntry = prepareQuery((db, row: EntryRow) => db.insertInto('entries').values(row).compile());

const addToChildren = prepareQuery((db, { parent, name, change }: Key & { change: number }) =>
  db
    .updateTable('entries')
    .set({ children: sql`children + ${change}` })
    .where('parent', '=', parent)
    .where('name', '=', name)
    .compile(),
);

/** The entry at a place. */
export async function findEntry(db: Kysely<Schema>, { parent, name }: Key): Promise<EntryRow | undefined> {
  const [entry] = await selectEntry(db, { parent, name });
  return entry;
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
  const { parent, name } = place;
  if (found) {
    await updateEntry(transaction, { parent, name, ...values });
    return;
  }
  await insertEntry(transaction, { parent, name, children: 0, ...values });
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
 * @throws 400 `ParentNotDirectory` when an object is in the way.
 */
export async function ensureDirectory(transaction: Transaction<Schema>, place: Place, now: number): Promise<string> {
  const found = await findEntry(transaction, place);
  if (found && found.type !== 'directory') throw new ApiError(400, 'ParentNotDirectory', `${place.path} is not a directory`);
  if (found) return found.role_tags;
  const above = parentOf(place);
  const roleTags = above ? await ensureDirectory(transaction, above, now) : '[]';
  await putEntry(transaction, place, undefined, describeDirectory(now, { roleTags }));
  return roleTags;
}

/**
 * Why `count` further entries cannot be put into a directory, which may still have to be made; undefined when they can.
 */
export async function findObstacle(db: Kysely<Schema>, place: Place, count: number): Promise<string | undefined> {
  const found = await findEntry(db, place);
  const above = parentOf(place);
  if (!found) return above && (await findObstacle(db, above, 1));
  if (found.type !== 'directory') return `${place.path} is not a directory`;
  return found.children + count > childrenLimit ? `${place.path} has ${found.children} entries, and cannot have more` : undefined;
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
  if (above) await addToChildren(transaction, { parent: above.parent, name: above.name, change });
}
