import type { Kysely, SelectQueryBuilder } from 'kysely';
import { isPostgres } from '../store/engine-of.ts';
import type { Schema } from '../store/schema.ts';

/**
 * Locks of rows on PostgreSQL, where several transactions write at once; on SQLite one does, and nothing has to be locked.
 *
 * Whoever writes an entry locks, in this order: the upload that it is a part of, the directory that holds the entry, and the entry itself,
 * with the source of a link in the order of their paths. What the work decides by is read with the lock or after it. What is not there
 * cannot be locked: of two that make it one fails by the primary key, and runs again.
 */

/**
 * - `present`: the row stays and keeps its key; its columns may change. For a directory that gets an entry: any number of writers have it
 *   at once, and neither an update of the directory nor the folding of its count waits for them.
 * - `unchanged`: the row stays as it is. For the source of a link, and for an upload that gets a part.
 * - `own`: nobody else writes the row. For an entry that is written.
 * - `alone`: nobody else has any of these. For a directory or an upload that is to go.
 */
export type Lock = 'present' | 'unchanged' | 'own' | 'alone';

/** The query, which locks the rows that it finds until the end of the transaction; outside of one, and on SQLite, as it is. */
export function lockRows<DB extends Schema, TB extends keyof DB, O>(
  db: Kysely<Schema>,
  query: SelectQueryBuilder<DB, TB, O>,
  lock: Lock,
): SelectQueryBuilder<DB, TB, O> {
  if (!db.isTransaction || !isPostgres(db)) return query;
  if (lock === 'present') return query.forKeyShare();
  if (lock === 'unchanged') return query.forShare();
  return lock === 'own' ? query.forNoKeyUpdate() : query.forUpdate();
}
