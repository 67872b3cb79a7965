import type { Kysely } from 'kysely';
import type { Schema } from './schema.ts';

/**
 * Rows that were read are kept in memory until a statement writes to tables that they may depend on. This is exact, because only one
 * process writes the data: every statement is counted in `WriteCounts` before it runs, and reads wait for the transaction in progress. A
 * revoked key or a replaced object is therefore gone for the first request after the response that acknowledged the change.
 */

/** Tables whose rows are kept together: accounts, users and keys; entries of the object storage. */
export type RowGroup = 'identities' | 'entries';

/** How often each group may have been written to. */
export type WriteCounts = Record<RowGroup, number>;

const countsOf = new WeakMap<object, WriteCounts>();

/** Tables on which no row of either group depends. */
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

/** Groups that a statement may write to: all, unless it is known to write only to other tables. */
export function listWrittenGroups(sql: string): readonly RowGroup[] {
  if (harmless.test(sql)) return [];
  const table = write.exec(sql)?.[1]?.toLowerCase() ?? '';
  if (independentTables.has(table)) return [];
  // No other table refers to entries.
  return table === 'entries' ? ['entries'] : ['identities', 'entries'];
}

/** Enables caching of the rows of a database; `counts` grows with each statement that may write. */
export function keepRows(db: Kysely<Schema>, counts: WriteCounts): void {
  countsOf.set(db, counts);
}

/** Maximum number of cached results per kind of query, and their maximum size in bytes. */
const mostKept = 1000;
const mostKeptBytes = 4 * 1024 * 1024;

/** A text that is different for different values; `JSON.stringify` of texts takes several times as long. */
function keyOf(values: object): string {
  let key = '';
  for (const value of Object.values(values)) key += typeof value === 'string' ? `${value.length}:${value}` : `${JSON.stringify(value)};`;
  return key;
}

interface Kept<R> {
  readonly count: number;
  readonly rows: Map<string, R[]>;
  bytes: number;
}

/**
 * Caches the rows of a query until a statement writes to the tables of `group`; they must not be modified. Nothing is cached in a
 * transaction, on a database that others write to, or if there are no rows.
 * @param measure size of a row in bytes, for large rows
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
    const key = keyOf(values);
    const known = kept.rows.get(key);
    if (known !== undefined) return known;
    const rows = await query(db, values);
    if (rows.length === 0 || counts[group] !== count) return rows;
    const bytes = rows.reduce((sum, row) => sum + measure(row), 0);
    if (bytes > mostKeptBytes) return rows;
    if (kept.rows.size >= mostKept || kept.bytes + bytes > mostKeptBytes) {
      kept.rows.clear();
      kept.bytes = 0;
    }
    kept.bytes += bytes;
    kept.rows.set(key, rows.map(Object.freeze) as R[]);
    return rows;
  };
}
