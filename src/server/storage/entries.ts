import { randomUUID } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import { ApiError } from '../../base/errors.ts';
import type { FoundAhead } from '../access/accounts.ts';
import type { StoredBytes } from '../store/bytes.ts';
import { changeCount, dropCounts, selectCount } from '../store/counts.ts';
import { isPostgres } from '../store/engine-of.ts';
import { prepareQuery } from '../store/prepared-query.ts';
import { rememberQuery } from '../store/remembered-query.ts';
import type { EntryRow, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { lockRows, type Lock } from './locks.ts';
import { parentOf, placeOf, placeOfAbsolute, roots, type Place } from './paths.ts';

/** Most entries in a directory. */
const childrenLimit = 1_000_000;

/**
 * Entries below that limit from which on writers in a directory count what others have not folded yet, one after the other. It is more than
 * can be left between two times of folding.
 */
const limitMargin = 100_000;

/** Entries that the row of a directory may have for another one to be added without counting. */
export const uncountedChildren = childrenLimit - limitMargin;

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

const selectLocked = Object.fromEntries(
  (['present', 'unchanged', 'own', 'alone'] as const).map((lock) => [
    lock,
    prepareQuery((db, { parent, name }: Key) =>
      lockRows(db, db.selectFrom('entries').selectAll().where('parent', '=', parent).where('name', '=', name), lock).compile(),
    ),
  ]),
) as Record<Lock, typeof selectEntry>;

/** The row of a directory with the number of its entries as it is now. */
const selectDirectory = rememberQuery(
  'entries',
  prepareQuery((db, { parent, name }: Key) =>
    db
      .selectFrom('entries')
      .selectAll()
      .select(selectCount(db).as('count'))
      .where('parent', '=', parent)
      .where('name', '=', name)
      .compile(),
  ),
);

const selectChild = prepareQuery((db, { path }: { path: string }) =>
  db.selectFrom('entries').select('name').where('parent', '=', path).limit(1).compile(),
);

/** The entry at a place. @param lock what others may do to it until the end of the transaction; everything, when it is left out */
export async function findEntry(db: Kysely<Schema>, { parent, name }: Key, lock?: Lock): Promise<EntryRow | undefined> {
  const [entry] = await (lock === undefined || !db.isTransaction ? selectEntry : selectLocked[lock])(db, { parent, name });
  return entry;
}

/** The entry at a place, locked as `findEntry` does. @throws 404 `ResourceNotFound`. */
export async function requireEntry(db: Kysely<Schema>, place: Place, lock?: Lock): Promise<EntryRow> {
  const entry = await findEntry(db, place, lock);
  if (!entry) throw new ApiError(404, 'ResourceNotFound', `${place.path} does not exist`);
  return entry;
}

/** Locks an entry before others are locked, where there are locks. */
export async function lockEntry(transaction: Transaction<Schema>, place: Key, lock: Lock): Promise<void> {
  if (isPostgres(transaction)) await findEntry(transaction, place, lock);
}

/** What is at a place, with the number of its entries where it is a directory. */
export async function findCounted(db: Kysely<Schema>, { parent, name }: Key): Promise<(EntryRow & { count: number }) | undefined> {
  const [found] = await selectDirectory(db, { parent, name });
  return found;
}

/** Whether nothing is in a directory. */
export async function isEmpty(db: Kysely<Schema>, { path }: Pick<Place, 'path'>): Promise<boolean> {
  return (await selectChild(db, { path })).length === 0;
}

/** @throws 409 `DirectoryLimitExceeded` when nothing can be added to a directory */
async function assertRoomIn(db: Kysely<Schema>, place: Place, { children }: EntryRow): Promise<void> {
  if (children < uncountedChildren) return;
  // Others that add to it have added before, or wait.
  await findEntry(db, place, 'own');
  const count = (await findCounted(db, place))?.count ?? 0;
  if (count < childrenLimit) return;
  throw new ApiError(409, 'DirectoryLimitExceeded', `${place.path} has ${count} entries, and cannot have more`);
}

/**
 * The entry and its parent, for writing; in a transaction the parent stays and the entry is one's own.
 * @param ahead what was there when it was looked up together with who sent the request, outside of a transaction
 * @throws 404 `DirectoryDoesNotExist`, 400 `ParentNotDirectory`, 409 `DirectoryLimitExceeded`.
 */
export async function findForWriting(db: Kysely<Schema>, place: Place, ahead?: FoundAhead): Promise<Found> {
  const above = parentOf(place);
  // What was looked up is taken as it is where it is all that is needed.
  const known = ahead?.directory === undefined ? undefined : ahead;
  const parent = known ? known.directory : above && (await findEntry(db, above, 'present'));
  if (!above || !parent) throw new ApiError(404, 'DirectoryDoesNotExist', `${place.parent} does not exist: create the directory first`);
  if (parent.type !== 'directory') throw new ApiError(400, 'ParentNotDirectory', `${place.parent} is not a directory`);
  const entry = known ? known.entry : await findEntry(db, place, 'own');
  if (!entry) await assertRoomIn(db, above, parent);
  return { parent, entry };
}

/** @throws 400 `OperationNotAllowedOnDirectory` when what an object is to replace is a directory. */
export function refuseDirectory(place: Place, entry: EntryRow | undefined): void {
  if (entry?.type !== 'directory') return;
  throw new ApiError(400, 'OperationNotAllowedOnDirectory', `${place.path} is a directory: an object cannot take its place`);
}

/** What this release knows of an entry. Rows that were read have the columns of a newer one as well, while both serve a database. */
function pickKnown({ type, etag, mtime, size, md5, content, copies, headers, role_tags }: EntryValues): EntryValues {
  return { type, etag, mtime, size, md5, content, copies, headers, role_tags };
}

/** Writes an entry over the one found, or adds it and counts it in its parent. */
export async function putEntry(
  transaction: Transaction<Schema>,
  place: Place,
  found: EntryRow | undefined,
  given: EntryValues,
): Promise<void> {
  const { parent, name } = place;
  const values = pickKnown(given);
  if (found) {
    await updateEntry(transaction, { parent, name, ...values });
    return;
  }
  await insertEntry(transaction, { parent, name, children: 0, ...values });
  await countInParent(transaction, place, 1);
}

/** Removes an object and takes it from its parent's count. */
export async function removeEntry(transaction: Transaction<Schema>, place: Place): Promise<void> {
  await transaction.deleteFrom('entries').where('parent', '=', place.parent).where('name', '=', place.name).execute();
  await countInParent(transaction, place, -1);
}

/** Removes a directory in which nothing is and takes it from its parent's count. It must be locked for oneself alone. */
export async function removeDirectory(transaction: Transaction<Schema>, place: Place): Promise<void> {
  await removeEntry(transaction, place);
  await dropCounts(transaction, [place]);
}

/** What an entry of type object has of bytes that were stored. @param mtime milliseconds since the epoch */
export function describeStored({ id, size, md5 }: StoredBytes, mtime: number) {
  return { type: 'object' as const, etag: randomUUID(), mtime, size, md5, content: id };
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
  const found = await findEntry(transaction, place, 'present');
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
  const found = await findCounted(db, place);
  const above = parentOf(place);
  if (!found) return above && (await findObstacle(db, above, 1));
  if (found.type !== 'directory') return `${place.path} is not a directory`;
  return found.count + count > childrenLimit ? `${place.path} has ${found.count} entries, and cannot have more` : undefined;
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

/** Counts entries, that were all added (1) or removed (-1) by one statement, in their directories. */
export async function countInParents(
  transaction: Transaction<Schema>,
  rows: readonly Pick<EntryRow, 'parent'>[],
  by: 1 | -1,
): Promise<void> {
  const changes = new Map<string, number>();
  for (const { parent } of rows) changes.set(parent, (changes.get(parent) ?? 0) + by);
  for (const [parent, change] of changes) {
    const above = placeOfAbsolute(parent);
    if (above) await changeCount(transaction, above, change);
  }
}

async function countInParent(transaction: Transaction<Schema>, place: Place, change: number): Promise<void> {
  const above = parentOf(place);
  if (above) await changeCount(transaction, above, change);
}
