import type { Kysely } from 'kysely';
import { createTable } from './create-table.ts';
import { isPostgres } from './engine-of.ts';

/**
 * Migration step: changes of entry counts. If all writers in a directory updated its row, they would wait for each other. SQLite has only
 * one writer, so the count stays in the row.
 */
export async function createCountTable(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await createTable(db, 'count_changes', `parent text, name text, number integer counted, change integer`, {
    key: ['parent', 'name', 'number'],
    keyName: 'count_changes_of_directory',
  });
}
