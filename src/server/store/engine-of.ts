import { SqliteAdapter, type Kysely } from 'kysely';
import type { Schema } from './schema.ts';

/** True for PostgreSQL, false for SQLite. Tables and queries are the same for both except where this function is called. */
export function isPostgres(db: Kysely<Schema>): boolean {
  return !(db.getExecutor().adapter instanceof SqliteAdapter);
}
