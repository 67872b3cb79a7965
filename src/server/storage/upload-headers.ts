import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Headers } from '../../api/message.ts';
import { headerLimit, isStoredHeader } from '../../api/stored-headers.ts';
import { ApiError } from '../../base/errors.ts';
import { chooseObjectHeaders, isMd5, measureHeaders, readCopies } from './headers.ts';
import type { Place } from './paths.ts';

/** What the creation of an upload specifies about its object. */
export interface Target {
  /** The given headers: names in lower case, values with their JSON types. */
  given: Readonly<Record<string, unknown>>;
  /** Headers that are stored with the object. */
  stored: Headers;
  copies: number;
  length: number | null;
  md5: string | null;
  roleTag: string | undefined;
}

/** Headers that describe the object but are not stored unchanged. */
const spoken = new Set(['content-length', 'content-md5', 'durability-level', 'x-durability-level', 'role-tag']);

/** Headers that existing clients also send, and that only appear in the state of the upload. */
const shownOnly = new Set(['accept', 'role', 'expect', 'location', 'x-request-id']);

/**
 * Reads the `headers` of CreateMultipartUpload (section 4).
 * @throws 409 `MultipartUploadInvalidArgumentError` for a header that the service does not store, an invalid value, or more than 4 KB.
 */
export function readTarget(headers: Readonly<Record<string, unknown>>, place: Place): Target {
  const pairs = Object.entries(headers).map(readHeader);
  const given: Headers = Object.fromEntries(pairs);
  const repeated = pairs.find(([name], index) => pairs.findIndex(([other]) => other === name) < index);
  if (repeated) throw createArgumentError(`headers: ${repeated[0]} is given more than once, in different spellings`);
  const size = measureHeaders(given);
  if (size > headerLimit)
    throw createArgumentError(`headers has ${size} bytes: the limit for names and values is ${headerLimit} bytes in total`);
  const { 'content-md5': md5, 'content-length': length, 'role-tag': roleTag } = given;
  if (md5 !== undefined && !isMd5(md5)) throw createArgumentError(`headers: content-md5 is "${md5}": it must be the Base64 of 16 bytes`);
  if (length !== undefined && !(/^\d+$/.test(length) && Number.isSafeInteger(Number(length))))
    throw createArgumentError(`headers: content-length is "${length}": it must be a whole number of bytes`);
  return {
    given: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    stored: chooseObjectHeaders(given, place),
    copies: readUploadCopies(given['durability-level'] ?? given['x-durability-level']),
    length: length === undefined ? null : Number(length),
    md5: md5 ?? null,
    roleTag,
  };
}

/** @throws 409 `MultipartUploadInvalidArgumentError` for an invalid number of copies. */
function readUploadCopies(level: string | undefined): number {
  try {
    return readCopies(level);
  } catch (error) {
    throw error instanceof ApiError ? createArgumentError(`headers: ${error.message}`) : error;
  }
}

const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'];

/** @throws 409 `MultipartUploadInvalidArgumentError` for a condition: uploads have none (section 4), and ignoring it could lose a write. */
export function refuseConditions(headers: Headers): void {
  const found = conditions.find((name) => headers[name] !== undefined);
  if (found !== undefined)
    throw createArgumentError(`multipart uploads do not support conditions: remove ${found}, or put the object in one request`);
}

/** The error for an invalid argument of a multipart upload. */
export function createArgumentError(message: string): ApiError {
  return new ApiError(409, 'MultipartUploadInvalidArgumentError', message);
}

function readHeader([spelling, value]: [string, unknown]): [string, string] {
  const name = spelling.toLowerCase();
  if (!spoken.has(name) && !shownOnly.has(name) && !isStoredHeader(name))
    throw createArgumentError(`headers: ${spelling} is not stored with objects: remove it`);
  if (typeof value !== 'string' && typeof value !== 'number') throw createArgumentError(`headers: ${spelling} must be a string`);
  const text = String(value).trim();
  if (!canBeSent(name, text))
    throw createArgumentError(
      `headers: ${JSON.stringify(spelling)} has a character that is not allowed in headers: encode it, for example with percent-encoding`,
    );
  return [name, text];
}

/** These headers come from a JSON document: a header that is invalid in HTTP could not be sent with the object later. */
function canBeSent(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
