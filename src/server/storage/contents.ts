import type { Kysely } from 'kysely';
import type { Body, ByteStream } from '../../api/message.ts';
import { readAll, streamOf, WholeBody } from '../../api/message.ts';
import { ApiError } from '../../base/errors.ts';
import { discardBody } from '../http/response.ts';
import type { StoredBytes } from '../store/bytes.ts';
import { readInline } from '../store/inline-bytes.ts';
import { isCompressed } from '../store/compressed-bytes.ts';
import { isPostgres } from '../store/engine-of.ts';
import { prepareQuery } from '../store/prepared-query.ts';
import { isRow, keepInRow, readRow, type RowBytes } from '../store/row-bytes.ts';
import type { EntryRow, PieceRow, Schema } from '../store/schema.ts';
import { DamagedContent } from '../store/damaged.ts';
import type { Store } from '../store/store.ts';
import { findEntry } from './entries.ts';
import { hold } from './readers.ts';
import { assertSpace } from './space.ts';

/**
 * The content of an object is one file of the byte store or, after a multipart upload, the files of its parts in order: a commit moves no
 * bytes, however large the object is.
 */

/** The `content` of an object that an upload with several parts creates. */
export function namePieces(uploadId: string): string {
  return `pieces/${uploadId}`;
}

/** Maximum size in bytes of a body of known length that is read into memory and written in one step. */
const smallBody = 16 * 1024;

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
  if (inline !== undefined) return new WholeBody(inline.subarray(start, end));
  if (isRow(content)) {
    const bytes = await readRow(store.db, content);
    // Checked last: the row is removed together with the last entry that has it.
    if (bytes === undefined && (await isThere())) throw new DamagedContent('is missing');
    return bytes && new WholeBody(bytes.subarray(start, end));
  }
  const release = hold(store, content);
  try {
    const pieces = await findPieces(store.db, content, start, end);
    // Checked last: while this entry exists no removal has begun, and any later removal waits for the hold.
    if (await isThere()) {
      // If several processes share the contents (`beginReading`), others remove them: the hold lasts until the end of the read.
      if (store.beginReading || end - start > smallContent || isPieces(content) || isCompressed(content))
        return await openPieces(store, pieces, { start, end, release });
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
        return bytes && { entry, read: () => streamOf(bytes), release };
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

/** True for the content of an object with several pieces. */
export function isPieces(content: string): boolean {
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

async function* readPieces(store: Store, pieces: readonly Piece[], start: number, end: number): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield* await openPiece(store, piece, start, end);
}

function openPiece(store: Store, piece: Piece, start: number, end: number): Promise<ByteStream> {
  return store.bytes.read(piece.bytes, Math.max(start, piece.start) - piece.start, Math.min(end, piece.start + piece.size) - piece.start);
}

/**
 * Opens the first piece before the stream is returned, so that its errors are reported before a response begins. `release` is called when
 * the stream ends, also if it is returned before it was read.
 */
async function openPieces(
  store: Store,
  [first, ...others]: readonly Piece[],
  { start, end, release }: { start: number; end: number; release: () => void },
): Promise<ByteStream> {
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
      release();
      if (!isBegun && opened) discardBody(opened);
    }
  }
  const stream = goOn();
  await stream.next();
  return stream;
}

async function* limitBody(body: ByteStream, limit: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > limit) throw new ApiError(413, 'MaxContentLengthExceeded', `the body is larger than the allowed ${limit} bytes`);
    yield piece;
  }
}
