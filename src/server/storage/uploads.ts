import { createHash, randomUUID } from 'node:crypto';
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import { findAccount } from '../access/accounts.ts';
import type { Call, Handler } from '../http/handler.ts';
import { assertRoom, oldestOf, timeOf } from '../limit.ts';
import { isPostgres } from '../store/engine-of.ts';
import type { AccountRow, Schema, UploadRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { releaseContents, removeGarbage, type Garbage } from './garbage.ts';
import { forgetDigest } from './digests.ts';
import { ensureDirectory, findEntry, isEmpty, removeDirectory } from './entries.ts';
import { lockRows, type Lock } from './locks.ts';
import { forgetFinishedUploads } from './old-uploads.ts';
import { parentOf, placeOf, placeOfAbsolute, type Place } from './paths.ts';
import { chooseRoleTags } from './roles.ts';
import { readTarget, createArgumentError, refuseConditions } from './upload-headers.ts';

/** Number of characters of an upload's id by which uploads are grouped. */
const prefixLength = 3;

/**
 * Creates an upload. Whether the object may be written is checked at the commit. On PostgreSQL, concurrent requests neither wait for nor
 * see each other: together they may exceed the limit of open uploads by their number.
 */
export const createMultipartUpload: Handler<typeof storage.createMultipartUpload> = async ({ objectPath, headers = {} }, call) => {
  const { account } = call;
  refuseConditions(call.headers);
  const place = placeOfAbsolute(objectPath);
  if (!place) throw createArgumentError(`objectPath is "${objectPath}": it must be a path like /${account.login}/stor/name`);
  // Other problems of the target are reported at the commit.
  if (place.login !== account.login && (await findAccount(call.store.db, 'storage', place.login)) === undefined)
    throw new ApiError(403, 'AccountDoesNotExist', `objectPath: the account ${place.login} does not exist`);
  const target = readTarget(headers, place);
  await chooseRoleTags(call.store.db, call, { names: target.roleTag }, undefined, { role_tags: '[]' });
  // The last digit is the length of the prefix by which uploads are grouped.
  const id = `${randomUUID().slice(0, -1)}${prefixLength}`;
  const created = call.now();
  const directory = partsDirectory(account.login, id);
  await call.store.writeEntry(async (transaction) => {
    const open = transaction.selectFrom('uploads').select('id').where('account', '=', account.id).where('state', '<>', sql.lit('done'));
    const subject = { has: 'an account has', counted: 'open uploads', code: 'MultipartUploadInvalidArgumentError' };
    await assertRoom(call.settings, 'openUploads', open, subject);
    // On PostgreSQL the gateways do so without a request.
    if (!isPostgres(transaction))
      await forgetFinishedUploads(transaction, oldestOf(transaction, call.settings, 'finishedUploadDays', created));
    await ensureDirectory(transaction, directory, created);
    const row: UploadRow = {
      id,
      account: account.id,
      target: place.path,
      state: 'created',
      result: null,
      headers: JSON.stringify(target.given),
      stored_headers: JSON.stringify(target.stored),
      copies: target.copies,
      content_length: target.length,
      content_md5: target.md5,
      created,
      ended: created,
      parts: null,
      etag: null,
      md5: null,
    };
    await transaction.insertInto('uploads').values(row).execute();
  });
  return { id, partsDirectory: directory.path };
};

export const getMultipartUpload: Handler<typeof storage.getMultipartUpload> = async ({ prefix, id }, call) => {
  const upload = await findUpload(call.store.db, call, id, prefix);
  return {
    id,
    state: upload.state,
    ...(upload.result === null ? { partsDirectory: partsDirectory(call.account.login, id).path } : { result: upload.result }),
    targetObject: upload.target,
    headers: JSON.parse(upload.headers) as Record<string, unknown>,
    numCopies: upload.copies,
    creationTimeMs: upload.created,
    ...(upload.result === 'committed' && { partsMD5Summary: sumParts(upload) }),
  };
};

/** The MD5, in Base64, of the concatenated etags of the parts. */
function sumParts({ parts }: UploadRow): string {
  const etags = JSON.parse(parts ?? '[]') as string[];
  return createHash('md5').update(etags.join('')).digest('base64');
}

/** Aborts an upload and removes its parts; repeating it has no effect. */
export const abortMultipartUpload: Handler<typeof storage.abortMultipartUpload> = async ({ prefix, id }, call) => {
  await giveUp(call, { id, prefix }, (upload) => {
    if (upload.result !== 'aborted') throw createStateError(upload, 'aborted');
  });
  return {};
};

/** @param onDone called for an upload that is already done, which is not changed */
async function giveUp(
  { store, account, now }: Pick<Call, 'store' | 'now'> & { account: Pick<AccountRow, 'id' | 'login'> },
  { id, prefix }: { id: string; prefix?: string },
  onDone: (upload: UploadRow) => void,
): Promise<void> {
  const garbage = await store.writeEntry(async (transaction) => {
    const upload = await findUpload(transaction, { account }, id, prefix, 'alone');
    if (upload.state === 'done') {
      onDone(upload);
      return [];
    }
    await transaction
      .updateTable('uploads')
      .set({ state: 'done', result: 'aborted', ended: timeOf(transaction, now()) })
      .where('id', '=', id)
      .execute();
    return removeParts(transaction, partsDirectory(account.login, id));
  });
  forgetDigest(store, id);
  await removeGarbage(store, garbage);
}

/** Maximum number of old uploads that one request aborts; the next request continues. */
const mostExpired = 100;

/** Wraps an operation on uploads so that the account's expired uploads are aborted first. */
export function expiring<I, R>(handler: (input: I, call: Call) => Promise<R> | R): (input: I, call: Call) => Promise<R> {
  return async (input, call) => {
    await giveUpOld(call, oldestOf(call.store.db, call.settings, 'uploadDays', call.now()), call.account);
    return await handler(input, call);
  };
}

/**
 * Aborts uploads that were never committed or aborted, and removes their parts: those of an account, or of all accounts.
 * @param before aborts uploads that were created, and got their last part, earlier than this
 * @returns how many; 100 if there may be more
 */
export async function giveUpOld(
  { store, now }: Pick<Call, 'store' | 'now'>,
  before: RawBuilder<number>,
  account?: Pick<AccountRow, 'id'>,
): Promise<number> {
  let query = store.db
    .selectFrom('uploads')
    .innerJoin('accounts', 'accounts.id', 'uploads.account')
    .select(['uploads.id', 'uploads.account', 'accounts.login'])
    .where('uploads.state', '<>', sql.lit('done'))
    .where('uploads.created', '<', before)
    .where(({ not, exists, selectFrom }) => {
      const prefix = sql`substr(uploads.id, 1, ${sql.lit(prefixLength)})`;
      const directory = sql<string>`'/' || accounts.login || '/uploads/' || ${prefix} || '/' || uploads.id`;
      return not(exists(selectFrom('entries').select('name').where('parent', '=', directory).where('mtime', '>=', before)));
    });
  if (account !== undefined) query = query.where('uploads.account', '=', account.id);
  const rows = await query.limit(mostExpired).execute();
  for (const { id, account: owner, login } of rows) await giveUp({ store, now, account: { id: owner, login } }, { id }, () => undefined);
  return rows.length;
}

/** Redirects to the parts of an upload, for clients that know only its id. */
export const redirectUpload: Handler<typeof storage.redirectUpload> = async ({ id }, call) => {
  await findUpload(call.store.db, call, id);
  return { location: partsDirectory(call.account.login, id).path };
};

/** Redirects to a part of an upload. */
export const redirectPart: Handler<typeof storage.redirectPart> = async ({ id, part }, call) => {
  await findUpload(call.store.db, call, id);
  return { location: `${partsDirectory(call.account.login, id).path}/${encodeURIComponent(part)}` };
};

/** @throws 404 `ResourceNotFound` when the account has no upload with the id in a path. */
export async function assertUpload(
  { db }: Store,
  account: AccountRow,
  { id = '', prefix }: Readonly<Record<string, string>>,
): Promise<void> {
  await findUpload(db, { account }, id, prefix);
}

/**
 * An upload of the account, locked as in `findEntry`.
 * @throws 404 `ResourceNotFound`, also for an id with the wrong prefix.
 */
export async function findUpload(
  db: Kysely<Schema>,
  { account }: { account: Pick<AccountRow, 'id'> },
  id: string,
  prefix?: string,
  lock?: Lock,
): Promise<UploadRow> {
  const query = db.selectFrom('uploads').selectAll().where('id', '=', id).where('account', '=', account.id);
  const row = await (lock ? lockRows(db, query, lock) : query).executeTakeFirst();
  if (row && (prefix === undefined || prefix === prefixOf(id))) return row;
  throw new ApiError(404, 'ResourceNotFound', `the account has no multipart upload ${id}`);
}

/** The directory of an upload's parts: `/demo/uploads/0f3/0f3c...`. */
export function partsDirectory(login: string, id: string): Place {
  return placeOf(login, `uploads/${prefixOf(id)}/${id}`);
}

/** The error for an operation that a completed upload does not permit. */
export function createStateError({ id, result }: UploadRow, wanted: string): ApiError {
  return new ApiError(409, 'InvalidMultipartUploadState', `upload ${id} is ${result}: it cannot be ${wanted}`);
}

/** Removes the parts of an upload, their directory, and the directory of the prefix if no other upload uses it. */
export async function removeParts(transaction: Transaction<Schema>, directory: Place): Promise<Garbage[]> {
  const parts = await transaction.deleteFrom('entries').where('parent', '=', directory.path).returning('content').execute();
  await removeDirectory(transaction, directory);
  const above = parentOf(directory);
  if (above && (await findEntry(transaction, above, 'alone')) && (await isEmpty(transaction, above)))
    await removeDirectory(transaction, above);
  return releaseContents(transaction, parts);
}

function prefixOf(id: string): string {
  return id.slice(0, prefixLength);
}
