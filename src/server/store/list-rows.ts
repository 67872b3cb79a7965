import { sql, type RawBuilder } from 'kysely';

/**
 * Values as a table with the columns `key`, which counts from 0, and `value`: one parameter however many they are, so that
 * the statement is compiled once. Where each value is a list, `value ->> 0` is its first.
 */
export function listRows(values: readonly unknown[]): RawBuilder<unknown> {
  return sql`json_each(${JSON.stringify(values)})`;
}
