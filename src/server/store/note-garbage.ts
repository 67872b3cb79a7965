import { sql, type Transaction } from 'kysely';
import { listValues } from './list-rows.ts';
import type { Schema } from './schema.ts';

const noted = new WeakMap<object, number>();

/** How many ids a transaction has noted so far. */
export function countNoted(transaction: Transaction<Schema>): number {
  return noted.get(transaction) ?? 0;
}

/**
 * Notes ids of the byte store for the collector, in the transaction that removes the last references to them. Used only if several
 * processes share the contents: only the collector knows their readers.
 */
export async function noteGarbage(transaction: Transaction<Schema>, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const all = [...new Set(ids)];
  await sql`
    insert into garbage (bytes, noted)
    select value, clock_timestamp() from ${listValues(transaction, JSON.stringify(all))}
    on conflict (bytes) do update set noted = excluded.noted, seen = null`.execute(transaction);
  noted.set(transaction, countNoted(transaction) + all.length);
}
