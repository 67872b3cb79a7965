import { SqliteAdapter, type Kysely } from 'kysely';
import type { Schema } from './schema.ts';

/** Whether a database is PostgreSQL; the other engine is SQLite. Tables and queries are the same but for what asks this. */
export function isPostgres(db: Kysely<Schema>): boolean {
  return !(db.getExecutor().adapter instanceof SqliteAdapter);
}
