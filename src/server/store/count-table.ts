import type { Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Migration step: changes of entry counts. If all writers in a directory updated its row, they would wait for each other. SQLite has only
 * one writer, so the count stays in the row.
 */
export async function createCountTable(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await db.schema
    .createTable('count_changes')
    .addColumn('parent', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull().autoIncrement())
    .addColumn('change', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('count_changes_of_directory', ['parent', 'name', 'number'])
    .execute();
}
