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

/** Maximum number of entries in a directory. */
const childrenLimit = 1_000_000;

/**
 * Margin below that limit. Within it, writers in a directory run one after the other and count the changes that are not folded yet. It is
 * larger than the number of changes that can accumulate between two folds.
 */
const limitMargin = 100_000;

/** While a directory's row has fewer entries than this, an entry is added without counting. */
export const uncountedChildren = childrenLimit - limitMargin;

/** The current state of an entry that is about to be written, and the directory that holds it. */
export interface Found {
  parent: EntryRow;
  entry: EntryRow | undefined;
}

/** An entry without its place and count. */
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

/** The row of a directory with its current number of entries. */
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

/** The entry at a place. @param lock restricts what others may do with it until the end of the transaction; no lock if omitted */
export async function findEntry(db: Kysely<Schema>, { parent, name }: Key, lock?: Lock): Promise<EntryRow | undefined> {
  const [entry] = await (lock === undefined || !db.isTransaction ? selectEntry : selectLocked[lock])(db, { parent, name });
  return entry;
}

/** The entry at a place, locked as in `findEntry`. @throws 404 `ResourceNotFound`. */
export async function requireEntry(db: Kysely<Schema>, place: Place, lock?: Lock): Promise<EntryRow> {
  const entry = await findEntry(db, place, lock);
  if (!entry) throw new ApiError(404, 'ResourceNotFound', `${place.path} does not exist`);
  return entry;
}

/** Locks an entry ahead of others, if the database has row locks. */
export async function lockEntry(transaction: Transaction<Schema>, place: Key, lock: Lock): Promise<void> {
  if (isPostgres(transaction)) await findEntry(transaction, place, lock);
}

/** The entry at a place with, if it is a directory, its number of entries. */
export async function findCounted(db: Kysely<Schema>, { parent, name }: Key): Promise<(EntryRow & { count: number }) | undefined> {
  const [found] = await selectDirectory(db, { parent, name });
  return found;
}

export async function isEmpty(db: Kysely<Schema>, { path }: Pick<Place, 'path'>): Promise<boolean> {
  return (await selectChild(db, { path })).length === 0;
}

/** @throws 409 `DirectoryLimitExceeded` when the directory is full */
async function assertRoomIn(db: Kysely<Schema>, place: Place, { children }: EntryRow): Promise<void> {
  if (children < uncountedChildren) return;
  // Others that add entries to it have done so, or wait for this lock.
  await findEntry(db, place, 'own');
  const count = (await findCounted(db, place))?.count ?? 0;
  if (count < childrenLimit) return;
  throw new ApiError(409, 'DirectoryLimitExceeded', `${place.path} has ${count} entries, which is the maximum`);
}

/**
 * Finds an entry that may be added, and its parent, as `findWithParent` does.
 * @throws 404 `DirectoryDoesNotExist`, 400 `ParentNotDirectory`, 409 `DirectoryLimitExceeded`.
 */
export async function findForWriting(db: Kysely<Schema>, place: Place, ahead?: FoundAhead): Promise<Found> {
  const { above, ...found } = await findWithParent(db, place, ahead);
  if (!found.entry) await assertRoomIn(db, above, found.parent);
  return found;
}

/**
 * Finds an entry and its parent for writing; in a transaction, the parent is locked against removal and the entry against other writers.
 * @param ahead entries that were looked up together with the caller, outside of a transaction
 * @throws 404 `DirectoryDoesNotExist`, 400 `ParentNotDirectory`.
 */
export async function findWithParent(db: Kysely<Schema>, place: Place, ahead?: FoundAhead): Promise<Found & { above: Place }> {
  const above = parentOf(place);
  // Used only if it includes the directory.
  const known = ahead?.directory === undefined ? undefined : ahead;
  const parent = known ? known.directory : above && (await findEntry(db, above, 'present'));
  if (!above || !parent) throw new ApiError(404, 'DirectoryDoesNotExist', `${place.parent} does not exist: create the directory first`);
  if (parent.type !== 'directory') throw new ApiError(400, 'ParentNotDirectory', `${place.parent} is not a directory`);
  const entry = known ? known.entry : await findEntry(db, place, 'own');
  return { above, parent, entry };
}

/** @throws 400 `OperationNotAllowedOnDirectory` when an object is to replace a directory. */
export function refuseDirectory(place: Place, entry: EntryRow | undefined): void {
  if (entry?.type !== 'directory') return;
  throw new ApiError(400, 'OperationNotAllowedOnDirectory', `${place.path} is a directory: an object cannot replace it`);
}

/** The columns that this release knows. Rows may have those of a newer release as well, while both serve one database. */
function pickKnown({ type, etag, mtime, size, md5, content, copies, headers, role_tags }: EntryValues): EntryValues {
  return { type, etag, mtime, size, md5, content, copies, headers, role_tags };
}

/** Overwrites the entry found, or adds a new one and counts it in its parent. */
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

/** Removes an object and subtracts it from its parent's count. */
export async function removeEntry(transaction: Transaction<Schema>, place: Place): Promise<void> {
  await transaction.deleteFrom('entries').where('parent', '=', place.parent).where('name', '=', place.name).execute();
  await countInParent(transaction, place, -1);
}

/** Removes an empty directory, which must be locked `alone`, and subtracts it from its parent's count. */
export async function removeDirectory(transaction: Transaction<Schema>, place: Place): Promise<void> {
  await removeEntry(transaction, place);
  await dropCounts(transaction, [place]);
}

/** The columns of an object's entry that describe its stored bytes. @param mtime milliseconds since the epoch */
export function describeStored({ id, size, md5 }: StoredBytes, mtime: number) {
  return { type: 'object' as const, etag: randomUUID(), mtime, size, md5, content: id };
}

export function describeDirectory(now: number, { headers = '{}', roleTags = '[]' } = {}): EntryValues {
  return { type: 'directory', etag: null, mtime: now, size: null, md5: null, content: null, copies: null, headers, role_tags: roleTags };
}

/**
 * Creates a directory and its missing ancestors, each with the role tags of its parent.
 * @returns the role tags of the directory, in the format of its row.
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

/** Explains why `count` further entries cannot be added to a directory, which need not exist yet; undefined if they can. */
export async function findObstacle(db: Kysely<Schema>, place: Place, count: number): Promise<string | undefined> {
  const found = await findCounted(db, place);
  const above = parentOf(place);
  if (!found) return above && (await findObstacle(db, above, 1));
  if (found.type !== 'directory') return `${place.path} is not a directory`;
  return found.count + count > childrenLimit ? `${place.path} has ${found.count} entries, which is the maximum` : undefined;
}

/** Creates the directory of an account and the roots in it: `stor`, `public`, `jobs`, `uploads`, `reports`. */
export async function createRoots(transaction: Transaction<Schema>, login: string, now: number): Promise<void> {
  for (const root of roots) await ensureDirectory(transaction, placeOf(login, root), now);
}

/** The type of the entry at a path below an account; undefined if there is none. @throws 400 `InvalidResource` for invalid paths. */
export async function entryAt(store: Store, login: string, path: string): Promise<EntryRow['type'] | undefined> {
  const place = placeOf(login, path);
  if (place.parts.length === 0) return 'directory';
  return (await findEntry(store.db, place))?.type;
}

/** Counts entries that one statement has added (1) or removed (-1) in their directories. */
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
