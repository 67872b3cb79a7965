import type { Kysely } from 'kysely';
import type { Schema } from './schema.ts';

/**
 * Rows that were read are kept in memory until a statement writes to tables that they may depend on. This is exact, because one process
 * alone writes the data: every statement passes by `countWrites` before it runs, and reads wait for the transaction that is under way. So
 * a key that was revoked, and an object that was replaced, are gone for the first request after the one that was acknowledged.
 */

/** Tables whose rows are kept together: accounts, users and keys; entries of the object storage. */
export type RowGroup = 'identities' | 'entries';

/** Times that each group may have been written to. */
export type WriteCounts = Record<RowGroup, number>;

const countsOf = new WeakMap<object, WriteCounts>();

/** Tables that no row of either group depends on. */
const independentTables = new Set([
  'jobs',
  'job_phases',
  'job_adders',
  'job_tasks',
  'job_reduce_inputs',
  'job_outputs',
  'job_errors',
  'job_causes',
  'uploads',
  'pieces',
  'contents',
]);

const harmless = /^\s*(?:select|begin|commit|rollback|savepoint|release)\b/iu;
const write = /^\s*(?:insert(?:\s+or\s+\w+)?\s+into|update(?:\s+or\s+\w+)?|delete\s+from)\s+"?(\w+)/iu;

/** Groups that a statement may write to: all, unless it is known to write to others only. */
export function listWrittenGroups(sql: string): readonly RowGroup[] {
  if (harmless.test(sql)) return [];
  const table = write.exec(sql)?.[1]?.toLowerCase() ?? '';
  if (independentTables.has(table)) return [];
  // No other table refers to entries.
  return table === 'entries' ? ['entries'] : ['identities', 'entries'];
}

/** Lets rows of a database be kept; `counts` grows with each statement that may write. */
export function keepRows(db: Kysely<Schema>, counts: WriteCounts): void {
  countsOf.set(db, counts);
}

/** Queries of one kind whose rows are kept, and most bytes of them. */
const mostKept = 1000;
const mostKeptBytes = 4 * 1024 * 1024;

interface Kept<R> {
  readonly count: number;
  readonly rows: Map<string, R[]>;
  bytes: number;
}

/**
 * The same query, not asked again while no statement has written to the tables of `group`. Rows must not be changed. In a transaction, and
 * on a database that others write to, it is always asked; and so is one without rows.
 * @param measure bytes of a row, where they are many
 */
export function rememberQuery<V extends object, R extends object>(
  group: RowGroup,
  query: (db: Kysely<Schema>, values: V) => Promise<R[]>,
  measure: (row: R) => number = () => 0,
): (db: Kysely<Schema>, values: V) => Promise<R[]> {
  const keptOf = new WeakMap<WriteCounts, Kept<R>>();
  return async (db, values) => {
    const counts = countsOf.get(db);
    if (counts === undefined) return query(db, values);
    const count = counts[group];
    const found = keptOf.get(counts);
    const kept = found?.count === count ? found : { count, rows: new Map<string, R[]>(), bytes: 0 };
    if (kept !== found) keptOf.set(counts, kept);
    const key = JSON.stringify(Object.values(values));
    const known = kept.rows.get(key);
    if (known !== undefined) return known;
    const rows = await query(db, values);
    if (rows.length === 0 || counts[group] !== count) return rows;
    const bytes = rows.reduce((sum, row) => sum + measure(row), 0);
    if (kept.rows.size >= mostKept || kept.bytes + bytes > mostKeptBytes) {
      kept.rows.clear();
      kept.bytes = 0;
    }
    kept.bytes += bytes;
    kept.rows.set(key, rows.map(Object.freeze) as R[]);
    return rows;
  };
}
