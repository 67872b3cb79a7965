import { sql, type Kysely, type RawBuilder } from 'kysely';
import { isPostgres } from './engine-of.ts';
import type { EntryRow, Schema } from './schema.ts';

/**
 * Lists as a table with the columns `key`, which counts from 0, and `value`. They are one parameter, however many there are, so that the
 * statement is compiled once. `value ->> 0` is the first item of a list, as text on PostgreSQL; `cast(value ->> 0 as bigint)` is a number
 * on both engines.
 */
export function listRows(db: Kysely<Schema>, lists: readonly (readonly unknown[])[]): RawBuilder<unknown> {
  const json = JSON.stringify(lists);
  if (!isPostgres(db)) return sql`json_each(${json})`;
  return sql`(select place - 1 as key, value from json_array_elements(cast(${json} as json)) with ordinality as list (value, place)) as lists`;
}

/** A condition that `(parent, name)` of a row, the key of an entry, is one of these. */
export function isAmong(db: Kysely<Schema>, keys: readonly Pick<EntryRow, 'parent' | 'name'>[]): RawBuilder<boolean> {
  const pairs = keys.map(({ parent, name }) => [parent, name]);
  return sql`(parent, name) in (select value ->> 0, value ->> 1 from ${listRows(db, pairs)})`;
}

/** Texts or integers as a table with the column `value`; `cast(value as bigint)` is a number on both engines. @param json JSON array */
export function listValues(db: Kysely<Schema>, json: string): RawBuilder<unknown> {
  return isPostgres(db) ? sql`json_array_elements_text(cast(${json} as json))` : sql`json_each(${json})`;
}
