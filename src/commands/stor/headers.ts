import type { Headers } from '../../api/message.ts';
import { isStoredHeader } from '../../api/stored-headers.ts';
import { number, text, texts, type Values } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { assertObjectType } from '../../transfer/entry-type.ts';
import { printMode } from '../../transfer/tree/headers.ts';
import { printTime } from '../../transfer/local/time.ts';

/** Options for storing objects. */
export const storeOptions = {
  type: text('Content type; by default guessed from the name', { placeholder: 'TYPE' }),
  meta: texts('Custom header, stored as m-KEY', { short: 'm', placeholder: 'KEY=VALUE' }),
  header: texts('Any header that the service stores', { placeholder: 'NAME:VALUE' }),
  copies: number('Number of copies', { range: [1, 6] }),
};

export type StoreValues = Values<typeof storeOptions>;

/** Parses a header given as `name: value` or `name=value`. */
function readHeader(given: string, separator: string): [string, string] {
  const at = given.indexOf(separator);
  const name = given.slice(0, at).trim().toLowerCase();
  if (at < 1 || !/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) throw new UsageError(`"${given}" is not a header: write NAME${separator}VALUE`);
  return [name, given.slice(at + 1).trim()];
}

/** Headers that are not stored but control how an object is stored. */
const orders = new Set(['durability-level', 'x-durability-level', 'max-content-length', 'role-tag']);

/** Parses `NAME:VALUE` of a stored header. @throws {UsageError} for others: they would be lost silently, or change the request */
export function readStored(given: string, declared?: ReadonlySet<string>): [string, string] {
  const [name, value] = readHeader(given, ':');
  assertObjectType({ [name]: value });
  if (isStoredHeader(name) || orders.has(name) || declared?.has(name) === true) return [name, value];
  throw new UsageError(`--header: services do not store ${name}`, { hint: `to store it as a custom header: -m ${name}=VALUE` });
}

/** Parses `KEY=VALUE` as the header `m-KEY`. */
export function readMeta(given: string): [string, string] {
  const [key, value] = readHeader(given, '=');
  return [`m-${key.replace(/^m-/, '')}`, value];
}

/** The content type for a file name. */
export async function guessType(name: string): Promise<string> {
  const { default: mime } = await import('mime/lite');
  // Without a dot the whole name would count as an extension: `one` is that of a notebook format.
  const suggested = name.slice(name.lastIndexOf('/') + 1).includes('.') ? mime.getType(name) : null;
  return suggested ?? 'application/octet-stream';
}

/** Headers that an upload may declare when it is created; the service compares them at the commit. */
export const declaredOfUploads: ReadonlySet<string> = new Set(['content-length', 'content-md5']);

/**
 * The headers of an object to be stored under a name.
 * @param declared headers that are sent in addition to stored ones
 */
export async function chooseHeaders({ type, meta, header }: StoreValues, name: string, declared?: ReadonlySet<string>): Promise<Headers> {
  if (type !== undefined) assertObjectType({ 'content-type': type });
  return {
    'content-type': type ?? (await guessType(name)),
    ...Object.fromEntries(header.map((given) => readStored(given, declared))),
    ...Object.fromEntries(meta.map(readMeta)),
  };
}

/** Headers that keep the modification time and the permission bits of a file. */
export function keepProperties({ mtime, mode }: { mtime: bigint; mode: number }, modes: boolean): Headers {
  return { 'm-mtime': printTime(mtime), ...(modes && { 'm-mode': printMode(mode) }) };
}
