import type { SelectQueryBuilder } from 'kysely';
import type { Schema } from './schema.ts';

/** Counts the rows that a query without a selection finds. */
export async function countRows<T extends keyof Schema>(query: SelectQueryBuilder<Schema, T, object>): Promise<number> {
  const { count } = await query.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  return count;
}
