import { randomUUID } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { Headers } from '../../api/message.ts';
import { storage } from '../../api/storage.ts';
import { sliceList } from '../../base/batches.ts';
import { ApiError } from '../../base/errors.ts';
import { Answer, type Call, type Handler } from '../http/handler.ts';
import { timeOf } from '../limit.ts';
import type { EntryRow, Schema, UploadRow } from '../store/schema.ts';
import { namePieces } from './contents.ts';
import { releaseContents, removeGarbage, type Garbage } from './garbage.ts';
import { digestParts, forgetDigest } from './digests.ts';
import { findForWriting, putEntry, refuseDirectory, type Found } from './entries.ts';
import { refuseJobPlace } from './job-places.ts';
import { placeOfAbsolute, refuseRoot, refuseUploads, type Place } from './paths.ts';
import { chooseRoleTags, noteRoleTags, readNamedTags, type NamedTags } from './roles.ts';
import { assertQuota, growthOf } from './quota.ts';
import { createArgumentError, refuseConditions } from './upload-headers.ts';
import { findUpload, partsDirectory, createStateError, removeParts } from './uploads.ts';

/** Minimum size in bytes of a part other than the last: 5 MiB (section 8). */
const smallestPart = 5 * 1024 ** 2;

/** Maximum number of parts of an upload. */
const mostParts = 10_000;

/** Rows per insert statement. */
const batchSize = 500;

/** Maximum number of attempts if parts are replaced while a commit reads them. */
const attempts = 3;

type Part = Pick<EntryRow, 'name' | 'etag' | 'size' | 'content'> & { size: number; content: string };

/** A commit that has passed the checks. */
interface Plan {
  upload: UploadRow;
  target: Place;
  found: Found;
  parts: readonly Part[];
}

/**
 * Creates the object from the parts. No bytes are moved: the object's content is the list of its parts. All checks are made before anything
 * changes, and again in the transaction that makes the change. Repeating the same commit returns the result of the first one.
 */
export const commitMultipartUpload: Handler<typeof storage.commitMultipartUpload> = async ({ prefix, id, parts: etags }, call) => {
  refuseConditions(call.headers);
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const upload = await findUpload(call.store.db, call, id, prefix);
    await demandAccess(upload, call);
    if (isRepeated(upload, etags)) return answerCommit(upload);
    const plan = await planCommit(upload, etags, call);
    if (plan === undefined) continue;
    const { parts } = plan;
    const md5 = await digestParts(call.store, id, parts);
    if (md5 === undefined) continue;
    checkMd5(upload, md5);
    const { 'role-tag': roleTag } = JSON.parse(upload.headers) as { 'role-tag'?: string };
    const tags = await readNamedTags(call, plan.target, roleTag);
    const done = await call.store.writeEntry((transaction) => commit(transaction, { id, prefix, etags, parts, md5, tags }, call));
    if (!done) continue;
    forgetDigest(call.store, id);
    await removeGarbage(call.store, done.garbage);
    return answerCommit(done.upload);
  }
  throw new ApiError(409, 'ConcurrentRequest', `parts of upload ${id} are being replaced: retry the commit later`);
};

/** Runs `checkCommit`. Undefined if the upload has changed since it was looked up: another commit has taken its parts in the meantime. */
async function planCommit(upload: UploadRow, etags: readonly string[], call: Call): Promise<Plan | undefined> {
  try {
    return await checkCommit(call.store.db, upload, etags, call);
  } catch (error) {
    const { state } = await findUpload(call.store.db, call, upload.id);
    if (error instanceof ApiError && state !== upload.state) return undefined;
    throw error;
  }
}

interface Commit {
  id: string;
  prefix: string;
  etags: readonly string[];
  /** The parts whose MD5 is `md5`. */
  parts: readonly Part[];
  md5: string;
  tags: NamedTags;
}

/**
 * Returns undefined if the parts are not those whose MD5 was computed. From the first query on, nobody else changes the upload or its
 * parts, and the following queries see everything that was changed before. A serializable transaction would see the parts as of the moment
 * when it began to wait.
 */
async function commit(
  transaction: Transaction<Schema>,
  { id, prefix, etags, parts, md5, tags }: Commit,
  call: Call,
): Promise<{ upload: UploadRow; garbage: Garbage[] } | undefined> {
  const upload = await findUpload(transaction, call, id, prefix, 'alone');
  if (isRepeated(upload, etags)) return { upload, garbage: [] };
  const plan = await checkCommit(transaction, upload, etags, call);
  if (plan.parts.some(({ content }, index) => content !== parts[index]?.content)) return undefined;
  const etag = randomUUID();
  const garbage = await putTarget(transaction, plan, { etag, md5, mtime: call.now(), tags }, call);
  const unused = await removeParts(transaction, partsDirectory(call.account.login, id));
  // The bytes were counted when the parts were uploaded.
  await assertQuota(transaction, call, { bytes: 0, objects: growthOf(plan.found.entry, 0).objects });
  const outcome = { state: 'done', result: 'committed', parts: JSON.stringify(etags), etag, md5 } as const;
  const ended = timeOf(transaction, call.now());
  await transaction
    .updateTable('uploads')
    .set({ ...outcome, ended })
    .where('id', '=', id)
    .execute();
  return { upload: { ...upload, ...outcome }, garbage: [...garbage, ...unused] };
}

/** Checks that the caller may create the object. */
async function demandAccess({ target }: UploadRow, { account, requireAccess }: Call): Promise<void> {
  const place = placeOfAbsolute(target);
  if (place?.login !== account.login) throw new ApiError(403, 'AuthorizationFailed', `objectPath ${target} belongs to another account`);
  refuseRoot(place);
  refuseUploads(place);
  const { parts } = place;
  await requireAccess(storage.putObject, { account: account.login, path: parts.join('/') });
}

/** The order of checks follows storage-decisions.md: target, parts given, state, each etag, sizes, declared length. */
async function checkCommit(db: Kysely<Schema>, upload: UploadRow, etags: readonly string[], { account }: Call): Promise<Plan> {
  const target = placeOfAbsolute(upload.target);
  if (!target) throw new Error(`upload ${upload.id} has the target ${upload.target}`);
  const found = await findForWriting(db, target);
  await refuseJobPlace(db, target, 'write');
  refuseDirectory(target, found.entry);
  if (etags.length > mostParts) throw createArgumentError(`${etags.length} parts were given: an upload has at most ${mostParts}`);
  if (upload.state === 'done') throw createStateError(upload, upload.result === 'committed' ? 'committed with other parts' : 'committed');
  const stored = await findParts(db, partsDirectory(account.login, upload.id));
  const parts = etags.map((etag, index) => checkPart(stored.get(String(index)), etag, index));
  checkSizes(upload, parts);
  return { upload, target, found, parts };
}

async function findParts(db: Kysely<Schema>, directory: Place): Promise<ReadonlyMap<string, Part>> {
  const rows = await db.selectFrom('entries').select(['name', 'etag', 'size', 'content']).where('parent', '=', directory.path).execute();
  return new Map(
    rows.flatMap(({ size, content, ...row }) => (size === null || content === null ? [] : [[row.name, { ...row, size, content }]])),
  );
}

function checkPart(part: Part | undefined, etag: string, index: number): Part {
  if (!part) throw createArgumentError(`part ${index} does not exist: upload it first`);
  if (part.etag === etag) return part;
  throw createArgumentError(`part ${index} has the etag ${part.etag}, not ${etag}: it was uploaded again`);
}

function checkSizes(upload: UploadRow, parts: readonly Part[]): void {
  const small = parts.slice(0, -1).findIndex(({ size }) => size < smallestPart);
  if (small !== -1)
    throw createArgumentError(`part ${small} has ${parts[small]?.size} bytes: all parts but the last must have at least ${smallestPart}`);
  const size = measureParts(parts);
  if (upload.content_length === null || upload.content_length === size) return;
  throw createArgumentError(`the parts have ${size} bytes in total, not the ${upload.content_length} declared as content-length`);
}

function checkMd5({ content_md5: declared }: UploadRow, md5: string): void {
  if (declared === null || declared === md5) return;
  throw createArgumentError(`the MD5 of the parts is ${md5}, not the ${declared} declared as content-md5`);
}

function measureParts(parts: readonly Part[]): number {
  return parts.reduce((size, part) => size + part.size, 0);
}

type Version = Pick<EntryRow, 'etag' | 'md5' | 'mtime'> & Pick<Commit, 'tags'>;

/** Writes the entry of the object. @returns the contents that it replaced */
async function putTarget(
  transaction: Transaction<Schema>,
  { upload, target, found, parts }: Plan,
  { tags, ...version }: Version,
  call: Call,
): Promise<Garbage[]> {
  await putEntry(transaction, target, found.entry, {
    type: 'object',
    ...version,
    size: measureParts(parts),
    content: await putContent(transaction, upload, parts),
    copies: upload.copies,
    headers: upload.stored_headers,
    role_tags: await chooseRoleTags(transaction, call, tags, found.entry, found.parent),
  });
  await noteRoleTags(transaction, call, target, tags.names);
  return releaseContents(transaction, [found.entry]);
}

/** The content of the object: null for no parts, the content of a single part, or the list of several. */
async function putContent(transaction: Transaction<Schema>, { id }: UploadRow, parts: readonly Part[]): Promise<string | null> {
  if (parts.length < 2) return parts[0]?.content ?? null;
  const content = namePieces(id);
  let start = 0;
  const pieces = parts.map(({ size, content: bytes }) => {
    start += size;
    return { content, start: start - size, size, bytes };
  });
  for (const batch of sliceList(pieces, batchSize)) await transaction.insertInto('pieces').values(batch).execute();
  return content;
}

/** True if the upload has already been committed with these parts. */
function isRepeated({ result, parts }: UploadRow, etags: readonly string[]): boolean {
  return result === 'committed' && parts === JSON.stringify(etags);
}

function answerCommit({ target, etag, md5 }: UploadRow): Answer<Headers> {
  return new Answer({ location: writeLocation(target), etag: etag ?? '', 'computed-md5': md5 ?? '' });
}

/** A path as the specification has it in `Location`: only what a header cannot hold is percent-encoded, and `%`, so that it can be decoded. */
function writeLocation(path: string): string {
  return path.replaceAll(/[^ -~]|%| $/gu, encodeURIComponent);
}
