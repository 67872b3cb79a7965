import type { Transaction } from 'kysely';
import { isPostgres } from '../store/engine-of.ts';
import { isRow } from '../store/row-bytes.ts';
import type { Schema } from '../store/schema.ts';

/**
 * Writes the rows of contents anew, where several transactions write at once: in the transaction that gives a content another name, and in
 * one that takes a name of several. Two that do so with the same content then come one after the other, and a serializable one that has
 * begun before the other ended runs again. Otherwise two that remove the last two names would each leave the rows to the other, or a
 * serializable one would remove them under a name that it cannot see. Contents in files have none of these rows; the collector looks for
 * all names of them.
 * @returns whether there were such rows, so that names that were seen before may be gone
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
