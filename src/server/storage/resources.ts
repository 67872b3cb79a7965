import type { Kysely } from 'kysely';
import type { Operation } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import type { AccountRow, EntryRow, Schema } from '../store/schema.ts';
import { findEntry } from './entries.ts';
import { parentOf, placeOf, type Place } from './paths.ts';

async function findNearest(db: Kysely<Schema>, place: Place): Promise<EntryRow | undefined> {
  const entry = await findEntry(db, place);
  const above = parentOf(place);
  return entry ?? (above && (await findNearest(db, above)));
}

function refuseMissing(
  { method, creates, needsEntry }: Operation,
  place: Place,
  entry: EntryRow | undefined,
  parent: EntryRow | undefined,
): void {
  if (entry !== undefined) return;
  if (method === 'PUT' && creates && parent === undefined) {
    throw new ApiError(404, 'DirectoryDoesNotExist', `${place.parent} does not exist: create the directory first`);
  }
  if (needsEntry) throw new ApiError(404, 'ResourceNotFound', `${place.path} does not exist`);
}

/**
 * Ids of the roles that decide about an operation at a path: the tags of the entry or, if it does not exist, of its nearest existing
 * ancestor.
 * @throws {ApiError} 404 for a missing entry, even for callers without permission.
 */
export async function findEntryTags(db: Kysely<Schema>, operation: Operation, account: AccountRow, path: string): Promise<string[]> {
  const place = placeOf(account.login, path);
  const entry = await findEntry(db, place);
  const above = parentOf(place);
  const parent = entry === undefined && above !== undefined ? await findEntry(db, above) : undefined;
  refuseMissing(operation, place, entry, parent);
  const nearest = entry ?? parent ?? (await findNearest(db, place));
  return JSON.parse(nearest?.role_tags ?? '[]') as string[];
}
