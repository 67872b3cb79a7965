import { isTyped } from '../../api/media-type.ts';
import type { Headers } from '../../api/message.ts';
import { headerLimit, pickStoredHeaders } from '../../api/stored-headers.ts';
import { ApiError } from '../../base/errors.ts';
import type { EntryRow } from '../store/schema.ts';
import { cleanDisposition } from './disposition.ts';
import { isPublic, type Place } from './paths.ts';

/** Number of copies of an object if the request does not specify it (section 1). */
export const defaultCopies = 2;

const mostCopies = 6;

/** Content type of an object if the request does not specify it (section 2). */
const defaultType = 'application/octet-stream';

/**
 * Selects the headers of a request that are stored with the entry. Objects under `public` can be read from any web page unless the request
 * says otherwise.
 * @throws 400 `InvalidArgumentError` for more than 4 KB of them, 400 `BadRequest` for a malformed Content-Disposition.
 */
export function chooseHeaders(given: Headers | undefined, place: Place): Headers {
  const stored = pickStoredHeaders(given ?? {});
  const disposition = stored['content-disposition'];
  if (disposition !== undefined) stored['content-disposition'] = cleanDisposition(disposition);
  const size = measureHeaders(stored);
  if (size > headerLimit) {
    throw new ApiError(
      400,
      'InvalidArgumentError',
      `the stored headers have ${size} bytes: the limit for names and values is ${headerLimit} bytes in total`,
    );
  }
  if (isPublic(place)) stored['access-control-allow-origin'] ??= '*';
  return stored;
}

/** The same for an object, which always has a content type. @throws 400 `BadRequest` also for a content type that no object can have. */
export function chooseObjectHeaders(given: Headers | undefined, place: Place): Headers {
  const { 'content-type': type = '', ...others } = given ?? {};
  assertObjectType(type);
  return { 'content-type': defaultType, ...chooseHeaders(type.trim() === '' ? others : given, place) };
}

/** Content types by which requests create directories and links, and by which clients recognise directories. */
const entryTypes = [
  ['application/json', 'directory'],
  ['application/json', 'link'],
  ['application/x-json-stream', 'directory'],
] as const;

function assertObjectType(value: string): void {
  if (!value.includes(';') || !entryTypes.some(([type, parameter]) => isTyped(value, type, parameter))) return;
  throw new ApiError(400, 'BadRequest', `content-type ${value} is that of a directory or a link: an object cannot have it`);
}

export function measureHeaders(headers: Headers): number {
  return Object.entries(headers).reduce((size, [name, value]) => size + name.length + measureValue(value), 0);
}

/** Number of copies that a `durability-level` requests. @throws 400 `InvalidDurabilityLevel` outside 1 to 6. */
export function readCopies(level: string | undefined): number {
  if (level === undefined) return defaultCopies;
  const copies = /^\s*\d+\s*$/.test(level) ? Number(level) : 0;
  if (copies >= 1 && copies <= mostCopies) return copies;
  throw new ApiError(400, 'InvalidDurabilityLevel', `durability-level is "${level}": it must be a whole number from 1 to ${mostCopies}`);
}

/**
 * Checks the headers that describe the bytes of an object, in a request that stores none and ignores them.
 * @throws 400 `InvalidDurabilityLevel`, 400 `BadRequest` for an invalid Content-MD5
 */
export function checkUnusedHeaders(headers: Headers): void {
  readCopies(headers['durability-level'] ?? headers['x-durability-level']);
  assertMd5(headers['content-md5']);
}

/** @throws 400 `BadRequest` for a Content-MD5 that is not the Base64 of an MD5 */
export function assertMd5(contentMd5: string | undefined): void {
  if (contentMd5 !== undefined && !isMd5(contentMd5))
    throw new ApiError(400, 'BadRequest', `content-md5 is "${contentMd5}": it must be the Base64 of 16 bytes`);
}

/** @throws 400 `ContentMD5Mismatch` if a body was sent with the MD5 of other bytes */
export function assertSameMd5(contentMd5: string | undefined, received: string): void {
  if (contentMd5 !== undefined && contentMd5 !== received)
    throw new ApiError(400, 'ContentMD5Mismatch', `content-md5 is ${contentMd5}, but the MD5 of the bytes received is ${received}`);
}

/** True if text is the Base64 of an MD5. */
export function isMd5(text: string): boolean {
  return /^[A-Za-z0-9+/]{22}==$/.test(text) && Buffer.from(text, 'base64').length === 16;
}

export function readStoredHeaders(entry: Pick<EntryRow, 'headers'>): Headers {
  return JSON.parse(entry.headers) as Headers;
}

/** The response headers that identify this version of an object. */
export function describeVersion(entry: Pick<EntryRow, 'etag' | 'mtime'>): Headers {
  return { ...(entry.etag !== null && { etag: entry.etag }), 'last-modified': new Date(entry.mtime).toUTCString() };
}

/** Node.js gives the bytes of a header as characters up to 255; other characters occur only in calls within the process. */
function measureValue(value: string): number {
  return /^[\0-\xff]*$/.test(value) ? value.length : Buffer.byteLength(value);
}
