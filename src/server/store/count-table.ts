import type { Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Step: changes of the numbers of entries. Writers in one directory would wait for each other where all of them update the directory's row;
 * in SQLite, which has one writer, the number stays there.
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
