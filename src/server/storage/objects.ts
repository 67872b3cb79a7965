import type { Headers } from '../../api/message.ts';
import type { InputOf } from '../../api/operation.ts';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import type { Call, Handler } from '../http/handler.ts';
import type { Kysely, Transaction } from 'kysely';
import type { StoredBytes } from '../store/bytes.ts';
import type { ObjectPut } from '../store/object-put.ts';
import { insertRow, type RowBytes } from '../store/row-bytes.ts';
import type { Schema } from '../store/schema.ts';
import { checkWrite, isConditional } from './conditions.ts';
import { storeBody } from './contents.ts';
import { discardOnRollback, releaseContents, removeGarbage, type Garbage } from './garbage.ts';
import {
  describeStored,
  findForWriting,
  putEntry,
  refuseDirectory,
  removeEntry,
  requireEntry,
  uncountedChildren,
  type Found,
} from './entries.ts';
import { assertMd5, assertSameMd5, chooseObjectHeaders, describeVersion, readCopies } from './headers.ts';
import { refuseJobPlace } from './job-places.ts';
import { placeOf, refuseRoot, refuseUploads, type Place } from './paths.ts';
import { chooseRoleTags, noteRoleTags, readNamedTags } from './roles.ts';
import { assertQuota, assertQuotaFor, growthOf, quotaOf } from './quota.ts';

type PutInput = InputOf<typeof storage.putObject>;

/** Maximum bytes of a body of unknown length: 5 GiB (section 8). */
const streamLimit = 5 * 1024 ** 3;

/**
 * Stores an object. All checks that do not need the bytes are made before any of them is read; whatever can change while the bytes arrive
 * is checked again when the object is put in place.
 */
export const putObject: Handler<typeof storage.putObject> = async (input, call) => {
  const { store } = call;
  const place = placeOf(call.account.login, input.path);
  refuseRoot(place);
  refuseUploads(place);
  refusePartial(call.headers);
  refuseEncoding(call.headers);
  const tags = await readNamedTags(call, place, input.roleTag);
  const checkPlace = async (db: Kysely<Schema>, found: Found): Promise<string> => {
    await refuseJobPlace(db, place, 'write');
    refuseDirectory(place, found.entry);
    checkWrite(input, found.entry, call.now());
    return chooseRoleTags(db, call, tags, found.entry, found.parent);
  };
  const before = await findForWriting(store.db, place, call.ahead);
  const roleTags = await checkPlace(store.db, before);
  const headers = JSON.stringify(chooseObjectHeaders(input.headers, place));
  const copies = readCopies(input.durabilityLevel);
  const limit = readLimit(input.maxContentLength, input.length);
  await assertQuotaFor(store.db, call, input.length, before.entry);
  const bytes = await storeChecked(input, { limit, now: call.now() }, call);
  const values = { ...describeStored(bytes, call.now()), copies, headers };
  const answer = { ...describeVersion(values), 'computed-md5': bytes.md5 };
  const put = { place, found: before, isBound: isConditional(input), values: { ...values, role_tags: roleTags }, bytes };
  if (input.roleTag === undefined && (await putAtOnce(call, put))) return answer;
  await keepBytes(call, bytes, async (transaction) => {
    const found = await findForWriting(transaction, place);
    await putEntry(transaction, place, found.entry, { ...values, role_tags: await checkPlace(transaction, found) });
    await noteRoleTags(transaction, call, place, input.roleTag);
    await assertQuota(transaction, call, growthOf(found.entry, bytes.size));
    return releaseContents(transaction, [found.entry]);
  });
  return answer;
};

interface CheckedPut {
  readonly place: Place;
  /** The state that the checks were made with. */
  readonly found: Found;
  /** True if the checks depend on the version, because the request has conditions. */
  readonly isBound: boolean;
  readonly values: ObjectPut['values'];
  readonly bytes: StoredBytes | RowBytes;
}

/** Writes the entry in one call if nothing has changed since the checks and no other check is needed. @returns false if not written */
async function putAtOnce(call: Call, { place, found: { parent, entry }, isBound, values, bytes }: CheckedPut): Promise<boolean> {
  const { putAtOnce: put } = call.store;
  // Writes to the directory of a job depend on the state of the job.
  if (put === undefined || place.parts[0] === 'jobs') return false;
  return put({
    place,
    above: parent,
    mostChildren: uncountedChildren,
    isBound,
    seen: entry,
    most: quotaOf(call.account, call.settings),
    values,
    bytes: 'row' in bytes ? bytes.row : undefined,
  });
}

/** @throws 400 `BadRequest` for part of an object: stored as an object, it would replace the whole (RFC 9110, 14.5). */
export function refusePartial(headers: Headers): void {
  if (headers['content-range'] === undefined) return;
  throw new ApiError(400, 'BadRequest', 'content-range: partial PUT is not supported; put the whole object, or use a multipart upload');
}

/** @throws 415 `UnsupportedMediaType`: the header is not stored, and without it the content could not be decoded. */
export function refuseEncoding({ 'content-encoding': encoding = '' }: Headers): void {
  if (encoding.trim() === '' || encoding.trim().toLowerCase() === 'identity') return;
  const message = `content-encoding ${encoding} is not stored with objects: remove it, or store it as a header m-content-encoding`;
  throw new ApiError(415, 'UnsupportedMediaType', message);
}

/**
 * Runs the transaction that gives stored bytes their row, then removes replaced contents. If the request is rejected, removes the bytes.
 */
export async function keepBytes(
  { store }: Call,
  bytes: StoredBytes | RowBytes,
  work: (transaction: Transaction<Schema>) => Promise<Garbage[]>,
): Promise<void> {
  const put = (): Promise<Garbage[]> =>
    store.writeEntry(async (transaction) => {
      if ('row' in bytes) await insertRow(transaction, bytes);
      return work(transaction);
    });
  await removeGarbage(store, await discardOnRollback(store, [{ content: bytes.id }], put));
}

/** Maximum bytes of a body. @throws 400 `InvalidMaxContentLength`, 413 `MaxContentLengthExceeded` if the declared length exceeds it. */
export function readLimit(maxContentLength: string | undefined, length: number | undefined): number {
  if (maxContentLength !== undefined && !/^\s*\d+\s*$/.test(maxContentLength)) {
    throw new ApiError(400, 'InvalidMaxContentLength', `max-content-length is "${maxContentLength}": it must be a whole number of bytes`);
  }
  const limit = maxContentLength === undefined ? (length ?? streamLimit) : Number(maxContentLength);
  if (length === undefined || length <= limit) return limit;
  throw new ApiError(413, 'MaxContentLengthExceeded', `content-length is ${length}, more than the max-content-length of ${limit}`);
}

/**
 * Stores the body of a request and checks it against the headers. If `now` is given, a small body may be kept in a row.
 * @throws 400 `BadRequest` for an invalid Content-MD5 or a wrong length, 400 `ContentMD5Mismatch`; nothing is kept then.
 */
export async function storeChecked(
  input: Pick<PutInput, 'body' | 'length' | 'contentMd5'>,
  { limit, now }: { limit: number; now?: number },
  { store }: Call,
): Promise<StoredBytes | RowBytes> {
  const { contentMd5, length } = input;
  assertMd5(contentMd5);
  const bytes = await storeBody(store, input.body, { limit, length, ...(now !== undefined && { now }) });
  return discardOnRollback(store, [{ content: bytes.id }], async () => {
    assertSameMd5(contentMd5, bytes.md5);
    if (length === undefined || length === bytes.size) return bytes;
    throw new ApiError(400, 'BadRequest', `content-length is ${length}, but ${bytes.size} bytes were received`);
  });
}

/** Deletes an object. Its bytes stay as long as a link or a reader needs them. */
export const deleteObject: Handler<typeof storage.deleteObject> = async ({ path, ...conditions }, call) => {
  const place = placeOf(call.account.login, path);
  refuseRoot(place);
  refuseUploads(place);
  const garbage = await call.store.writeEntry(async (transaction) => {
    const entry = await requireEntry(transaction, place, 'own');
    checkWrite(conditions, entry, call.now());
    if (entry.type === 'directory') throw new ApiError(409, 'ConcurrentRequest', `${place.path} became a directory in the meantime: retry`);
    await removeEntry(transaction, place);
    return releaseContents(transaction, [entry]);
  });
  await removeGarbage(call.store, garbage);
  return {};
};
