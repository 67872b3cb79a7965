import type { Headers } from '../../api/message.ts';
import { headerLimit, isStoredHeader, pickStoredHeaders } from '../../api/stored-headers.ts';
import { UsageError } from '../../base/errors.ts';
import { isRecord } from '../../base/is-record.ts';
import { assertObjectType } from '../entry-type.ts';

/**
 * The stored headers in a file that somebody else may have written. Everything else in it, such as role tags, is left out.
 * @returns undefined for anything but a record
 */
export function readStoredHeaders(value: unknown): Headers | undefined {
  if (!isRecord(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value).filter((each): each is [string, string] => isStoredHeader(each[0]) && typeof each[1] === 'string'),
  );
}

/** Encodes text as UTF-8 for HTTP: one character of the header for each byte. */
function encodeValue(name: string, value: string): string {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value)) {
    throw new UsageError(`header ${name}: ${JSON.stringify(value)} contains a control character, which headers cannot have`);
  }
  return Buffer.from(value).toString('latin1');
}

/** Decodes a header value as UTF-8; returns it unchanged if it is not valid UTF-8. */
export function decodeValue(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? text : value;
}

/**
 * Encodes the headers of an object, or of a directory without its content type.
 * @throws {UsageError} for invalid characters, for more bytes than services store, and for the content type of a directory or link
 */
export function encodeHeaders(headers: Headers): Headers {
  assertObjectType(headers);
  const encoded = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, encodeValue(name, value)]));
  const size = Object.entries(encoded).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (size <= headerLimit) return encoded;
  throw new UsageError(`the headers have ${size} bytes: the limit for names and values is ${headerLimit} bytes in total`, {
    hint: 'store the rest in a separate object',
  });
}

/** Parses the permission bits in `m-mode`. */
export function readMode(value: string | undefined): number | undefined {
  return value !== undefined && /^0?[0-7]{3,4}$/.test(value) ? Number.parseInt(value, 8) & 0o777 : undefined;
}

/** Formats permission bits for `m-mode`. */
export function printMode(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

/** The headers that are stored with an object, decoded. */
export function decodeStored(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(pickStoredHeaders(headers)).map(([name, value]) => [name, decodeValue(value)]));
}

/** The headers that are stored with a directory, decoded. Its content type is the service's. */
export function decodeStoredOfFolder(headers: Headers): Headers {
  const { 'content-type': _, ...stored } = decodeStored(headers);
  return stored;
}
