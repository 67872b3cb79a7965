import type { Kysely, SelectQueryBuilder } from 'kysely';
import { isPostgres } from '../store/engine-of.ts';
import type { Schema } from '../store/schema.ts';

/**
 * Row locks on PostgreSQL, where several transactions write concurrently. On SQLite only one writes at a time, so nothing has to be locked.
 *
 * Writers of an entry lock, in this order: the upload that the entry is a part of, the directory that holds the entry, and the entry
 * itself; the entry and the source of a link are locked in the order of their paths. Everything that a decision depends on is read with the
 * lock or after it. A missing row cannot be locked: of two transactions that create it, one fails by the primary key and is retried.
 */

/**
 * - `present`: the row stays and keeps its key; its columns may change. For a directory that gets an entry: any number of writers hold this
 *   lock concurrently, and neither an update of the directory nor the folding of its count waits for them.
 * - `unchanged`: the row stays unchanged. For the source of a link, and for an upload that gets a part.
 * - `own`: nobody else writes the row. For an entry that is written.
 * - `alone`: nobody else holds any of these locks. For a directory or an upload that is removed.
 */
export type Lock = 'present' | 'unchanged' | 'own' | 'alone';

/** Adds a lock on the rows found until the end of the transaction; outside of a transaction and on SQLite, returns the query unchanged. */
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
