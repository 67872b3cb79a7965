import { isUtf8 } from 'node:buffer';
import type { Kysely } from 'kysely';
import type { Headers } from '../../api/message.ts';
import { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import { assertEnabled } from '../access/account-status.ts';
import { findAccount } from '../access/accounts.ts';
import type { Call, Handler } from '../http/handler.ts';
import type { EntryRow, Schema } from '../store/schema.ts';
import { checkWrite, type Conditions } from './conditions.ts';
import { releaseContents, removeGarbage } from './garbage.ts';
import { findEntry, findForWriting, lockEntry, putEntry, refuseDirectory } from './entries.ts';
import { checkUnusedHeaders, chooseHeaders, describeVersion, readStoredHeaders } from './headers.ts';
import { refuseJobPlace } from './job-places.ts';
import { isOfUploads, isPublic, placeOf, placeOfAbsolute, refuseRoot, refuseUploads, type Place } from './paths.ts';
import { chooseRoleTags, noteRoleTags, readNamedTags } from './roles.ts';
import { assertQuota, growthOf } from './quota.ts';
import { touchContents } from './shared-contents.ts';

/** Creates another name for the current version of an object. Later changes of the source do not affect the link. */
export const putSnapLink: Handler<typeof storage.putSnapLink> = async ({ path, location, roleTag, ...conditions }, call) => {
  const place = placeOf(call.account.login, path);
  refuseRoot(place);
  refuseUploads(place);
  checkUnusedHeaders(call.headers);
  const source = readLocation(location, call);
  if (source.login === call.account.login)
    await call.requireAccess(storage.getObject, { account: source.login, path: source.parts.join('/') });
  const tags = await readNamedTags(call, place, roleTag);
  const mtime = call.now();
  const { etag, garbage } = await call.store.writeEntry(async (transaction) => {
    // Fixed order: two links that are each other's source cannot deadlock.
    if (source.path < place.path) await lockEntry(transaction, source, 'unchanged');
    const { parent, entry } = await findForWriting(transaction, place);
    await refuseJobPlace(transaction, place, 'write');
    refuseDirectory(place, entry);
    if (source.login !== call.account.login) await assertOwnerEnabled(transaction, source);
    const linked = await findSource(transaction, source);
    checkConditions(conditions, entry, linked, call.now());
    await touchContents(transaction, [linked.content]);
    await putEntry(transaction, place, entry, {
      ...linked,
      mtime,
      headers: JSON.stringify({ ...chooseHeaders({}, place), ...inheritHeaders(linked, source, place) }),
      role_tags: await chooseRoleTags(transaction, call, tags, entry, parent),
    });
    await noteRoleTags(transaction, call, place, roleTag);
    await assertQuota(transaction, call, growthOf(entry, linked.size ?? 0));
    return { etag: linked.etag, garbage: await releaseContents(transaction, [entry]) };
  });
  await removeGarbage(call.store, garbage);
  return describeVersion({ etag, mtime });
};

/**
 * Checks the conditions of a link: an etag in `If-Match` is that of the source, as in deployed services; the others apply to the target.
 */
function checkConditions(conditions: Conditions, target: EntryRow | undefined, source: EntryRow, now: number): void {
  const { ifMatch, ...others } = conditions;
  const isOfSource = ifMatch !== undefined && !['', '*'].includes(ifMatch.trim());
  checkWrite(isOfSource ? others : conditions, target, now);
  if (isOfSource) checkWrite({ ifMatch }, source, now);
}

/** The stored headers of the source. The list of origins `*`, which public objects have by default, is not inherited outside `public`. */
function inheritHeaders(linked: EntryRow, source: Place, place: Place): Headers {
  const { 'access-control-allow-origin': origins, ...headers } = readStoredHeaders(linked);
  if (origins === undefined || (origins.trim() === '*' && isPublic(source) && !isPublic(place))) return headers;
  return { ...headers, 'access-control-allow-origin': origins };
}

/** The source in a Location header, percent-encoded or not. In other accounts only public objects can be linked. */
function readLocation(location: string | undefined, { account }: Call): Place {
  if (location === undefined || location.trim() === '') {
    throw new ApiError(400, 'LocationRequired', 'a snap-link needs the header Location with the path of its source');
  }
  const place = placeOfAbsolute(decodeLocation(location.trim()));
  if (!place) throw new ApiError(400, 'InvalidResource', `location is "${location}": it must be a path like /${account.login}/stor/name`);
  if (place.login !== account.login && !isPublic(place)) {
    throw new ApiError(403, 'AuthorizationFailed', `${place.path} belongs to another account and is not public`);
  }
  if (isOfUploads(place)) throw new ApiError(400, 'InvalidResource', `location is "${location}": what is below uploads cannot be linked`);
  return place;
}

function decodeLocation(location: string): string {
  try {
    const parts = readUtf8(location).split('/').map(decodeURIComponent);
    if (parts.every((part) => !part.includes('/'))) return parts.join('/');
  } catch {
    // Reported below, like a slash in a name.
  }
  throw new ApiError(400, 'InvalidResource', `location is "${location}": it is not percent-encoded UTF-8`);
}

/** Node.js gives the bytes of a header as characters up to 255. */
function readUtf8(header: string): string {
  const bytes = Buffer.from(header, 'latin1');
  return bytes.toString('latin1') === header && isUtf8(bytes) ? bytes.toString() : header;
}

/** @throws {ApiError} 403 `NotAuthorized` when the account of the source is disabled: its public objects are not accessible then. */
async function assertOwnerEnabled(db: Kysely<Schema>, { login }: Place): Promise<void> {
  const owner = await findAccount(db, 'storage', login);
  if (owner) assertEnabled(owner);
}

async function findSource(db: Kysely<Schema>, place: Place): Promise<EntryRow> {
  const source = await findEntry(db, place, 'unchanged');
  if (!source) throw new ApiError(404, 'SourceObjectNotFound', `${place.path} does not exist`);
  if (source.type === 'directory') throw new ApiError(400, 'LinkNotObject', `${place.path} is a directory: only objects can be linked`);
  return source;
}
