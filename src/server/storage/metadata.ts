import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import type { Handler } from '../http/handler.ts';
import { checkWrite } from './conditions.ts';
import { findWithParent, putEntry } from './entries.ts';
import { chooseHeaders, chooseObjectHeaders, describeVersion } from './headers.ts';
import { placeOf, refuseUploads } from './paths.ts';
import { chooseRoleTags, noteRoleTags, readNamedTags } from './roles.ts';

/** Replaces all stored headers of an object or a directory; data and etag stay unchanged. */
export const putMetadata: Handler<typeof storage.putMetadata> = async (input, call) => {
  const place = placeOf(call.account.login, input.path);
  if (place.parts.length === 0) throw new ApiError(400, 'OperationNotAllowedOnRootDirectory', `${place.path} has no stored headers`);
  refuseUploads(place);
  refuseCritical('content-length', call.headers['content-length'] === '0' ? undefined : call.headers['content-length']);
  refuseCritical('content-md5', input.contentMd5);
  refuseCritical('durability-level', input.durabilityLevel);
  const mtime = call.now();
  const tags = await readNamedTags(call, place, input.roleTag);
  const etag = await call.store.writeEntry(async (transaction) => {
    const { parent, entry } = await findWithParent(transaction, place);
    if (!entry) throw new ApiError(404, 'ResourceNotFound', `${place.path} does not exist`);
    checkWrite(input, entry, call.now());
    const { 'content-type': _, ...given } = input.headers ?? {};
    const headers = entry.type === 'directory' ? chooseHeaders(given, place) : chooseObjectHeaders(input.headers, place);
    const roleTags = await chooseRoleTags(transaction, call, tags, entry, parent);
    await noteRoleTags(transaction, call, place, input.roleTag);
    await putEntry(transaction, place, entry, { ...entry, mtime, headers: JSON.stringify(headers), role_tags: roleTags });
    return entry.etag;
  });
  return describeVersion({ etag, mtime });
};

function refuseCritical(name: string, value: string | undefined): void {
  if (value === undefined) return;
  throw new ApiError(400, 'InvalidUpdate', `${name} cannot be changed without the data: remove it, or put the object again`);
}
