import { sql, type Kysely, type Transaction } from 'kysely';
import type { Body, ByteStream } from '../../api/message.ts';
import { readAll, streamOf } from '../../api/message.ts';
import { sliceList } from '../../base/batches.ts';
import { ApiError } from '../../base/errors.ts';
import { discardBody } from '../http/response.ts';
import type { StoredBytes } from '../store/bytes.ts';
import { readInline } from '../store/inline-bytes.ts';
import { isCompressed } from '../store/compressed-bytes.ts';
import { isPostgres } from '../store/engine-of.ts';
import { listValues } from '../store/list-rows.ts';
import { noteGarbage } from '../store/note-garbage.ts';
import { prepareQuery } from '../store/prepared-query.ts';
import { isRow, keepInRow, readRow, removeRow, type RowBytes } from '../store/row-bytes.ts';
import type { EntryRow, PieceRow, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { findEntry } from './entries.ts';
import { hold, whenReleased } from './readers.ts';
import { touchContents } from './shared-contents.ts';

/**
 * The content of an object is one file of the byte store or, after a multipart upload, the files of its parts in order: a commit moves no
 * bytes, however large the object is.
 */

/** Contents looked up in one query. */
const batchSize = 500;

/** Maximum number of files whose removal a request waits for. */
const fewFiles = 64;

/** A content that is no longer referenced, and its files. */
export interface Garbage {
  content: string;
  bytes: readonly string[];
}

/** The `content` of an object that an upload with several parts creates. */
export function namePieces(uploadId: string): string {
  return `pieces/${uploadId}`;
}

/** Maximum size in bytes of a body of known length that is read into memory and written in one step. */
const smallBody = 16 * 1024;

/** Minimum length in bytes for which the free space is checked: for less, the check costs more than it saves. */
const askedFrom = 1024 * 1024;

/** @throws {ApiError} 507 `NotEnoughSpace` for a body that is longer than the free space, before any of it is read. */
async function assertSpace(store: Store, length: number): Promise<void> {
  if (length < askedFrom || length === Infinity) return;
  const free = await store.bytes.measureFree();
  if (length > free)
    throw new ApiError(507, 'NotEnoughSpace', `content-length is ${length}, and the disk of the service has ${free} bytes left`);
}

/**
 * Stores a body of at most `limit` bytes. If `now` is given, a body of a few bytes is stored later, by the transaction that writes its
 * entry.
 * @param length as declared by the request
 * @throws 413 `MaxContentLengthExceeded`, or the error of the disk. Nothing is kept then, nor of a body that is cut short.
 */
export async function storeBody(
  store: Store,
  body: Body,
  { limit, length = Infinity, now }: { limit: number; length?: number | undefined; now?: number },
): Promise<StoredBytes | RowBytes> {
  await assertSpace(store, length);
  const limited = limitBody(body instanceof Uint8Array ? streamOf(body) : body, limit);
  if (length > smallBody) return store.bytes.write(limited);
  const bytes = await readAll(limited);
  return (now === undefined ? undefined : keepInRow(store.db, bytes, now)) ?? store.bytes.write(bytes);
}

/** Maximum size in bytes of contents that are read in one call. */
const smallContent = 64 * 1024;

/**
 * Opens the bytes of a content from `start` up to `end`. They stay readable, whatever happens to the objects with this content, until the
 * stream has been read to its end, returned or failed. Undefined if no object has the content any more: it has just been replaced.
 * @param isThere checks whether an object has the content
 */
export async function openContent(
  store: Store,
  content: string,
  { start, end }: { start: number; end: number },
  isThere: () => Promise<boolean> = () => hasEntry(store.db, content),
): Promise<ByteStream | undefined> {
  const inline = readInline(content);
  if (inline !== undefined) return streamOf(inline.subarray(start, end));
  if (isRow(content)) {
    const bytes = await readRow(store.db, content);
    // Checked last: the row is removed together with the last entry that has it.
    if (bytes === undefined && (await isThere())) throw new Error(`the content ${content} is missing`);
    return bytes && streamOf(bytes.subarray(start, end));
  }
  const release = hold(store, content);
  try {
    const pieces = await findPieces(store.db, content, start, end);
    // Checked last: while this entry exists no removal has begun, and any later removal waits for the hold.
    if (await isThere()) {
      // If several processes share the contents (`beginReading`), others remove them: the hold lasts until the end of the read.
      if (store.beginReading || end - start > smallContent || isPieces(content) || isCompressed(content))
        return releaseAfter(await openPieces(store, pieces, start, end), release);
      const bytes = await store.bytes.read(content, start, end);
      release();
      return bytes;
    }
  } catch (error) {
    release();
    throw error;
  }
  release();
  return undefined;
}

/** Calls `work` while the content is protected from removal. Undefined if no object has the content any more. */
export async function useContent<T>(store: Store, content: string, work: () => Promise<T>): Promise<T | undefined> {
  const release = hold(store, content);
  try {
    return (await hasEntry(store.db, content)) ? await work() : undefined;
  } finally {
    release();
  }
}

/** An entry whose content, as it was at lookup, stays readable until released. */
export interface Held {
  readonly entry: EntryRow;
  /** Yields the whole content. */
  read(): AsyncGenerator<Uint8Array>;
  release(): void;
}

/** Looks up an entry and holds its content, however often the entry is replaced meanwhile. Undefined if there is no entry. */
export async function holdEntry(store: Store, place: Pick<EntryRow, 'parent' | 'name'>): Promise<Held | undefined> {
  for (;;) {
    const held = await tryHold(store, place);
    const content = held?.entry.content ?? null;
    // Where writes run concurrently, another write may have replaced the content before it was held, and removed its bytes.
    if (content === null || !isPostgres(store.db) || (await hasEntry(store.db, content))) return held;
    held?.release();
  }
}

async function tryHold(store: Store, place: Pick<EntryRow, 'parent' | 'name'>): Promise<Held | undefined> {
  let release = (): void => undefined;
  try {
    // Runs as a write: one that replaces the content comes later, and finds the hold when it removes the bytes.
    return await store.write(async (transaction) => {
      // The hold of a previous attempt of this transaction.
      release();
      const entry = await findEntry(transaction, place);
      if (!entry) return undefined;
      const { content, size } = entry;
      if (content === null) return { entry, read: () => readPieces(store, [], 0, 0), release };
      if (isRow(content)) {
        const bytes = await readRow(transaction, content);
        return bytes && { entry, read: () => yieldBytes(bytes), release };
      }
      release = hold(store, content);
      const pieces = await findPieces(transaction, content, 0, size ?? 0);
      return { entry, read: () => readPieces(store, pieces, 0, size ?? 0), release };
    });
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Lists what can be removed once `transaction` is committed, after the entries that had these contents were deleted or changed. If several
 * processes share the contents, the result is empty: the contents are noted for the collector, which knows the readers of all processes.
 */
export async function releaseContents(
  transaction: Transaction<Schema>,
  rows: readonly ({ content: string | null } | undefined)[],
): Promise<Garbage[]> {
  const known = rows.flatMap((row) => row?.content ?? []);
  const garbage: Garbage[] = [];
  for (const batch of sliceList(known, batchSize)) {
    let referenced = await findReferenced(transaction, batch);
    if (await touchContents(transaction, referenced)) referenced = await findReferenced(transaction, batch);
    for (const content of batch) {
      if (referenced.has(content)) continue;
      if (isRow(content)) await removeRow(transaction, content);
      else garbage.push({ content, bytes: await releasePieces(transaction, content) });
    }
  }
  if (!isPostgres(transaction)) return garbage;
  const ids = garbage.flatMap(({ bytes }) => bytes);
  await noteGarbage(
    transaction,
    ids.filter((id) => readInline(id) === undefined),
  );
  return [];
}

/** The files of an unreferenced content; its rows are removed. */
async function releasePieces(transaction: Transaction<Schema>, content: string): Promise<string[]> {
  if (!isPieces(content)) return [content];
  const pieces = await transaction.deleteFrom('pieces').where('content', '=', content).returning('bytes').execute();
  return pieces.map(({ bytes }) => bytes);
}

/**
 * Removes the files of unreferenced contents; if a content is being read, after its last reader. The caller does not wait for the files of
 * an upload, of which there can be 10,000: files left behind by a crash are collected at the next start.
 */
export async function removeGarbage(store: Store, garbage: readonly Garbage[]): Promise<void> {
  const removing = removeFiles(store, garbage);
  if (garbage.reduce((count, { bytes }) => count + bytes.length, 0) <= fewFiles) await removing;
}

async function removeFiles(store: Store, garbage: readonly Garbage[]): Promise<void> {
  for (const { content, bytes } of garbage) {
    // Until the commit makes it a piece, a part of an upload is read by its own id.
    for (const id of bytes) await whenReleased(store, [content, id], () => removeBytes(store, id));
  }
}

/** Removes contents that were stored but will not be used. Contents that cannot be removed now are left to collectors. */
export async function discardContents(store: Store, ids: Iterable<string>): Promise<void> {
  for (const id of ids) await removeBytes(store, id);
}

// One row per id is enough: any number of links may have the same content.
const selectReferenced = prepareQuery((db, { ids }: { ids: string }) =>
  sql<{ id: string }>`select value as id from ${listValues(db, ids)}
    where exists (select 1 from entries where content = value)
    or exists (select 1 from pieces where bytes = value)
    or exists (select 1 from images where content = value)`.compile(db),
);

/** Finds which of these files of the byte store an object, part or image still needs, to collect what a crash left behind. */
export async function findReferenced(db: Kysely<Schema>, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await selectReferenced(db, { ids: JSON.stringify(ids) });
  return new Set(rows.map(({ id }) => id));
}

/** A file that cannot be removed now is found by the collection at the next start. */
async function removeBytes(store: Store, id: string): Promise<void> {
  await store.bytes.remove(id).catch(() => undefined);
}

function isPieces(content: string): boolean {
  return content.startsWith('pieces/');
}

const selectWithContent = prepareQuery((db, { content }: { content: string }) =>
  db.selectFrom('entries').select('etag').where('content', '=', content).limit(1).compile(),
);

async function hasEntry(db: Kysely<Schema>, content: string): Promise<boolean> {
  return (await selectWithContent(db, { content })).length > 0;
}

type Piece = Pick<PieceRow, 'start' | 'size' | 'bytes'>;

async function findPieces(db: Kysely<Schema>, content: string, start: number, end: number): Promise<Piece[]> {
  if (!isPieces(content)) return [{ start: 0, size: end, bytes: content }];
  const pieces = await db
    .selectFrom('pieces')
    .select(['start', 'size', 'bytes'])
    .where('content', '=', content)
    .where('start', '<', end)
    .orderBy('start')
    .execute();
  return pieces.filter((piece) => piece.start + piece.size > start);
}

async function* yieldBytes(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* readPieces(store: Store, pieces: readonly Piece[], start: number, end: number): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield* await openPiece(store, piece, start, end);
}

function openPiece(store: Store, piece: Piece, start: number, end: number): Promise<ByteStream> {
  return store.bytes.read(piece.bytes, Math.max(start, piece.start) - piece.start, Math.min(end, piece.start + piece.size) - piece.start);
}

/** Opens the first piece before the stream is returned, so that its errors are reported before a response begins. */
async function openPieces(
  store: Store,
  [first, ...others]: readonly Piece[],
  start: number,
  end: number,
): Promise<AsyncGenerator<Uint8Array>> {
  const opened = first && (await openPiece(store, first, start, end));
  async function* goOn(): AsyncGenerator<Uint8Array> {
    let isBegun = false;
    try {
      // The first `next` below runs up to here: a generator that was never started cannot release anything.
      yield new Uint8Array();
      isBegun = true;
      if (opened) yield* opened;
      yield* readPieces(store, others, start, end);
    } finally {
      if (!isBegun && opened) discardBody(opened);
    }
  }
  const stream = goOn();
  await stream.next();
  return stream;
}

/** The same stream; `release` is called when it ends, also if it is returned before it was started. */
function releaseAfter(source: AsyncGenerator<Uint8Array>, release: () => void): ByteStream {
  const iterator: AsyncIterableIterator<Uint8Array> = {
    async next() {
      try {
        const result = await source.next();
        if (result.done === true) release();
        return result;
      } catch (error) {
        release();
        throw error;
      }
    },
    async return() {
      release();
      return source.return(undefined);
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

async function* limitBody(body: ByteStream, limit: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > limit) throw new ApiError(413, 'MaxContentLengthExceeded', `the body has more than the ${limit} bytes that are allowed`);
    yield piece;
  }
}
