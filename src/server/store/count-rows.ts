import type { SelectQueryBuilder } from 'kysely';
import type { Schema } from './schema.ts';

/** How many rows a query finds, of which nothing is selected. */
export async function countRows<T extends keyof Schema>(query: SelectQueryBuilder<Schema, T, object>): Promise<number> {
  const { count } = await query.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  return count;
}
