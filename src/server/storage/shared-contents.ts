import type { Transaction } from 'kysely';
import { isPostgres } from '../store/engine-of.ts';
import { isRow } from '../store/row-bytes.ts';
import type { Schema } from '../store/schema.ts';

/**
 * Rewrites the rows of contents, on a database with concurrent transactions. Called in a transaction that gives a content another name, and
 * in one that removes one of several names. Two such transactions on the same content then run one after the other, and a serializable one
 * that began before the other ended is retried. Otherwise two that remove the last two names would each leave the rows to the other, or a
 * serializable one would remove rows that still have a name which it cannot see. Contents in files have no such rows; the collector looks
 * for all their names.
 * @returns true if there were such rows: names that were seen before may no longer exist
 */
export async function touchContents(transaction: Transaction<Schema>, contents: Iterable<string | null>): Promise<boolean> {
  if (!isPostgres(transaction)) return false;
  const known = [...contents].filter((content) => content !== null).toSorted();
  const [rows, pieces] = [known.filter(isRow), known.filter((content) => content.startsWith('pieces/'))];
  // One after the other, in the same order everywhere.
  for (const id of rows) await transaction.updateTable('contents').set({ id }).where('id', '=', id).execute();
  for (const content of pieces)
    await transaction.updateTable('pieces').set({ start: 0 }).where('content', '=', content).where('start', '=', 0).execute();
  return rows.length + pieces.length > 0;
}
