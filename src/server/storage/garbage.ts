import { sql, type Kysely, type Transaction } from 'kysely';
import { sliceList } from '../../base/batches.ts';
import { ApiError } from '../../base/errors.ts';
import { isDiskFull } from '../store/disk-full.ts';
import { isPostgres } from '../store/engine-of.ts';
import { readInline } from '../store/inline-bytes.ts';
import { listValues } from '../store/list-rows.ts';
import { noteGarbage } from '../store/note-garbage.ts';
import { prepareQuery } from '../store/prepared-query.ts';
import { isRow, removeRow } from '../store/row-bytes.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { isPieces } from './contents.ts';
import { whenReleased } from './readers.ts';
import { touchContents } from './shared-contents.ts';

/** Contents that nothing refers to any more: they are found when entries change, and their files are removed. */

/** Contents looked up in one query. */
const batchSize = 500;

/** Maximum number of files whose removal a request waits for. */
const fewFiles = 64;

/** A record that may refer to a content. */
type HasContent = { readonly content: string | null } | undefined;

/** A content that is no longer referenced, and its files. */
export interface Garbage {
  content: string;
  bytes: readonly string[];
}

/**
 * Lists what can be removed once `transaction` is committed, after the entries that had these contents were deleted or changed. If several
 * processes share the contents, the result is empty: the contents are noted for the collector, which knows the readers of all processes.
 */
export async function releaseContents(transaction: Transaction<Schema>, rows: readonly HasContent[]): Promise<Garbage[]> {
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
  const files = garbage.flatMap(({ bytes }) => bytes).filter((id) => readInline(id) === undefined);
  await noteGarbage(transaction, files);
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

/**
 * True if a transaction that failed is known not to be committed: the request was rejected, or there was no room. After any other error
 * the contents that it was to name must be kept; the collection at the next start finds out.
 */
function isRolledBack(error: unknown): boolean {
  return error instanceof ApiError || isDiskFull(error);
}

/** Removes contents that were stored but will not be used. Contents that cannot be removed now are left to collectors. */
export async function discardContents(store: Store, rows: readonly HasContent[]): Promise<void> {
  for (const row of rows) if (row?.content) await removeBytes(store, row.content);
}

/**
 * Does work that names stored contents in a transaction. When the transaction is known not to be committed, the contents are removed before
 * the error is thrown.
 */
export async function discardOnRollback<T>(store: Store, rows: readonly HasContent[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isRolledBack(error)) await discardContents(store, rows);
    throw error;
  }
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
