import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Schema } from './schema.ts';

/** Which rows are read, and how many at once. */
interface Page<Row> {
  /** By which rows are told from each other, among those that are meant. */
  readonly key: readonly (keyof Row & string)[];
  readonly where: RawBuilder<unknown>;
  readonly size: number;
  /** With the key; all columns when left out. */
  readonly columns?: readonly (keyof Row & string)[];
}

/** Rows of a table in the order of their key, page by page: memory stays the same however many there are. */
export async function* readPages<Row extends object>(
  db: Kysely<Schema>,
  table: keyof Schema,
  { key, where, size, columns }: Page<Row>,
): AsyncGenerator<readonly Row[]> {
  const list = (names: readonly string[]): RawBuilder<unknown> => sql.join(names.map((name) => sql.ref(name)));
  const selected = columns === undefined ? sql`*` : list(columns);
  for (let after = sql`true`; ;) {
    const { rows } = await sql<Row>`
      select ${selected} from ${sql.table(table)} where ${where} and ${after} order by ${list(key)} limit ${size}`.execute(db);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    if (rows.length < size) return;
    after = sql`(${list(key)}) > (${sql.join(key.map((name) => last[name]))})`;
  }
}
