import type { Kysely } from 'kysely';

/** Migration step: contents of a few KiB, each in a row. */
export async function createContentTable(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('contents')
    .ifNotExists()
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('bytes', 'blob', (column) => column.notNull())
    .execute();
}
