import type { Upload } from '../../api/objects.ts';
import { storage as operations } from '../../api/storage.ts';
import type { StorageClient } from '../../client/client.ts';
import { isEmptyResponse } from '../../client/response.ts';
import { ApiError, NotFoundError, UsageError } from '../../base/errors.ts';
import { listEntries } from '../tree/list.ts';
import { printRemotePath } from '../path.ts';
import { partsDirectory, readPlace, type UploadPlace } from './parts.ts';

const fullId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Number of leading characters of an id that name the directory above it, where the service does not say. */
const prefixLength = 3;

/** Every multipart upload of an account for which the service still has a directory. */
export async function* listUploads(storage: StorageClient, account: string): AsyncGenerator<UploadPlace> {
  for await (const { name: prefix, type } of listEntries(storage, { account, path: 'uploads' })) {
    if (type !== 'directory') continue;
    for await (const { name: id } of listEntries(storage, { account, path: `uploads/${prefix}` })) yield { account, prefix, id };
  }
}

/** Requests the place of an upload's parts. If the service cannot tell, their directory is named by the first characters of the id. */
async function locateUpload(storage: StorageClient, account: string, id: string): Promise<UploadPlace> {
  try {
    const { headers } = await storage.answer(operations.redirectUpload, { account, id });
    const { location } = headers;
    if (location !== undefined) return readPlace(new URL(location, 'https://service').pathname);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 404) throw error;
  }
  return { account, prefix: id.slice(0, prefixLength), id };
}

/**
 * Finds an upload by its id, a prefix of its id, or the path of its parts directory.
 * @throws {NotFoundError} {UsageError} for an ambiguous prefix
 */
export async function findUpload(storage: StorageClient, account: string, word: string): Promise<UploadPlace> {
  if (word.includes('/uploads/')) return readPlace(word);
  if (fullId.test(word)) return await locateUpload(storage, account, word);
  const found = [];
  if (word.length >= 8) for await (const place of listUploads(storage, account)) if (place.id.startsWith(word)) found.push(place);
  const [first, ...others] = found;
  if (!first) throw new NotFoundError(`multipart upload "${word}" does not exist`, { hint: 'cloud mpu list' });
  if (others.length === 0) return first;
  throw new UsageError(`multipart upload "${word}" is ambiguous: ${found.map(({ id }) => id).join(', ')}`, { hint: 'give the full id' });
}

/** What is known of an upload. A service that responds with an empty 204 only confirms that the upload exists. */
export type KnownUpload = Pick<Upload, 'id'> & Partial<Upload>;

/** The state of an upload. */
export async function getUpload(storage: StorageClient, place: UploadPlace): Promise<KnownUpload> {
  try {
    return await storage.getMultipartUpload(place);
  } catch (error) {
    if (!isEmptyResponse(error)) throw error;
    return { id: place.id, partsDirectory: printRemotePath(partsDirectory(place)) };
  }
}
