import type { Kysely } from 'kysely';

/** Migration step 2: multipart uploads, contents made of several pieces, and the orders of a listing other than by name. */
export async function createUploadTables(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('uploads')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('target', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('result', 'text')
    .addColumn('headers', 'text', (column) => column.notNull())
    .addColumn('stored_headers', 'text', (column) => column.notNull())
    .addColumn('copies', 'integer', (column) => column.notNull())
    .addColumn('content_length', 'integer')
    .addColumn('content_md5', 'text')
    .addColumn('created', 'integer', (column) => column.notNull())
    .addColumn('parts', 'text')
    .addColumn('etag', 'text')
    .addColumn('md5', 'text')
    .execute();
  await db.schema
    .createTable('pieces')
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('start', 'integer', (column) => column.notNull())
    .addColumn('size', 'integer', (column) => column.notNull())
    .addColumn('bytes', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('pieces_place', ['content', 'start'])
    .execute();
  await db.schema.createIndex('pieces_bytes').on('pieces').column('bytes').execute();
  await db.schema.createIndex('entries_by_time').on('entries').columns(['parent', 'mtime', 'name']).execute();
  await db.schema.createIndex('entries_by_type').on('entries').columns(['parent', 'type', 'name']).execute();
}
