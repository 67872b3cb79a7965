import type { Kysely } from 'kysely';
import { ApiError } from '../../base/errors.ts';
import { storage } from '../../api/storage.ts';
import type { Handler } from '../http/handler.ts';
import { isPostgres } from '../store/engine-of.ts';
import type { Schema } from '../store/schema.ts';
import { checkUnusedHeaders, chooseHeaders } from './headers.ts';
import { checkWrite } from './conditions.ts';
import { releaseContents, removeGarbage, type Garbage } from './garbage.ts';
import {
  describeDirectory,
  ensureDirectory,
  findCounted,
  findForWriting,
  isEmpty,
  putEntry,
  removeDirectory,
  requireEntry,
} from './entries.ts';
import { refuseJobPlace } from './job-places.ts';
import type { Lock } from './locks.ts';
import { placeOf, refuseRoot, refuseUploads, roots, type Place } from './paths.ts';
import { chooseRoleTags, noteRoleTags, readNamedTags } from './roles.ts';

/**
 * Creates or updates a directory. Headers and role tags in the request replace the existing ones. An object at the path is replaced, which
 * also requires permission to delete it.
 */
export const putDirectory: Handler<typeof storage.putDirectory> = async ({ path, headers, roleTag, ...conditions }, call) => {
  const place = placeOf(call.account.login, path);
  const { 'content-type': _type, 'content-disposition': _disposition, ...given } = headers ?? {};
  const stored = JSON.stringify(chooseHeaders(given, place));
  const keepsHeaders = Object.keys(given).length === 0;
  checkUnusedHeaders(call.headers);
  if (!isRoot(place)) {
    refuseRoot(place);
    refuseUploads(place);
  }
  const tags = await readNamedTags(call, place, roleTag);
  /** Returns the etag of an object that the caller has not been allowed to replace yet. */
  const write = (allowed?: string): Promise<readonly Garbage[] | string> =>
    call.store.writeEntry(async (transaction) => {
      if (isRoot(place)) await ensureDirectory(transaction, place, call.now());
      await refuseJobPlace(transaction, place, 'write');
      const { parent, entry } = await findForWriting(transaction, place);
      checkWrite(conditions, entry, call.now());
      if (entry?.type === 'object' && entry.etag !== null && entry.etag !== allowed) return entry.etag;
      const roleTags = await chooseRoleTags(transaction, call, tags, entry, parent);
      await noteRoleTags(transaction, call, place, roleTag);
      const kept = entry?.type === 'directory' && keepsHeaders ? entry.headers : stored;
      await putEntry(transaction, place, entry, describeDirectory(call.now(), { headers: kept, roleTags }));
      return releaseContents(transaction, [entry]);
    });
  let written = await write();
  while (typeof written === 'string') {
    await call.requireAccess(storage.deleteObject, { account: place.login, path: place.parts.join('/') });
    written = await write(written);
  }
  await removeGarbage(call.store, written);
  return {};
};

export const deleteDirectory: Handler<typeof storage.deleteDirectory> = async ({ path, ...conditions }, call) => {
  const place = placeOf(call.account.login, path);
  refuseRoot(place);
  refuseUploads(place);
  await call.store.writeEntry(async (transaction) => {
    const check = async (lock?: Lock): Promise<void> => {
      const entry = await requireEntry(transaction, place, lock);
      checkWrite(conditions, entry, call.now());
      if (entry.type !== 'directory') throw new ApiError(409, 'ConcurrentRequest', `${place.path} became an object in the meantime: retry`);
      await refuseJobPlace(transaction, place, 'remove');
      if (await isEmpty(transaction, place)) return;
      const { count = 0 } = (await findCounted(transaction, place)) ?? {};
      throw new ApiError(400, 'DirectoryNotEmpty', `${place.path} has ${count} entries: delete them first`);
    };
    // First checked without a lock: the lock would wait for writers in a directory that cannot be removed anyway.
    if (isPostgres(transaction)) await check();
    await check('alone');
    await removeDirectory(transaction, place);
  });
  return {};
};

/** True for the directories that every account has. */
function isRoot(place: Place): boolean {
  return place.parts.length === 1 && roots.some((root) => root === place.name);
}

/** The directory at a place, for a listing; an account's own directory always exists. @throws 404 `ResourceNotFound`. */
export async function findDirectory(db: Kysely<Schema>, place: Place): Promise<{ count: number; headers: string; role_tags: string }> {
  const entry = await findCounted(db, place);
  if (entry?.type === 'directory') return entry;
  if (place.parts.length === 0) return { count: 0, headers: '{}', role_tags: '[]' };
  await requireEntry(db, place);
  throw new ApiError(409, 'ConcurrentRequest', `${place.path} became an object in the meantime: retry`);
}
