import { sql, type Kysely, type RawBuilder } from 'kysely';
import { createPauses } from '../../base/pauses.ts';
import type { Schema } from './schema.ts';

/** The rows to read, and the size of a page. */
interface Page<Row> {
  /** Columns that identify a row among the selected rows. */
  readonly key: readonly (keyof Row & string)[];
  readonly where: RawBuilder<unknown>;
  readonly size: number;
  /** Columns to read, including the key; all columns if omitted. */
  readonly columns?: readonly (keyof Row & string)[];
  /** Ends the reading before the next page; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads rows of a table in the order of their key, page by page: the memory used does not depend on their number. SQLite returns pages
 * without waiting for anything, so that other requests get their turn between pages.
 */
export async function* readPages<Row extends object>(
  db: Kysely<Schema>,
  table: keyof Schema,
  { key, where, size, columns, signal }: Page<Row>,
): AsyncGenerator<readonly Row[]> {
  const list = (names: readonly string[]): RawBuilder<unknown> => sql.join(names.map((name) => sql.ref(name)));
  const selected = columns === undefined ? sql`*` : list(columns);
  const pause = createPauses();
  for (let after = sql`true`; ;) {
    signal?.throwIfAborted();
    const { rows } = await sql<Row>`
      select ${selected} from ${sql.table(table)} where ${where} and ${after} order by ${list(key)} limit ${size}`.execute(db);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    if (rows.length < size) return;
    await pause();
    after = sql`(${list(key)}) > (${sql.join(key.map((name) => last[name]))})`;
  }
}
