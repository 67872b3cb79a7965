import { sql, type Kysely } from 'kysely';
import { createTable } from './create-table.ts';

/** Migration step 2: multipart uploads, contents made of several pieces, and the orders of a listing other than by name. */
export async function createUploadTables(db: Kysely<never>): Promise<void> {
  await createTable(
    db,
    'uploads',
    `id text key, account text, target text, state text, result text null, headers text, stored_headers text,
      copies integer, content_length integer null, content_md5 text null, created integer, parts text null,
      etag text null, md5 text null`,
  );
  await createTable(db, 'pieces', `content text, start integer, size integer, bytes text`, {
    key: ['content', 'start'],
    keyName: 'pieces_place',
  });
  await db.schema.createIndex('pieces_bytes').on('pieces').column('bytes').execute();
  await db.schema.createIndex('entries_by_time').on('entries').columns(['parent', 'mtime', 'name']).execute();
  await db.schema.createIndex('entries_by_type').on('entries').columns(['parent', 'type', 'name']).execute();
}

/**
 * Migration step: when uploads ended. Those that had ended before, and those that a gateway of an earlier release ends, count from the
 * migration: a default takes no time, however many there are.
 */
export async function addUploadEnds(db: Kysely<never>, now: number): Promise<void> {
  await db.schema
    .alterTable('uploads')
    .addColumn('ended', 'integer', (column) => column.notNull().defaultTo(now))
    .execute();
  await sql`create index uploads_ended on uploads (ended) where state = 'done'`.execute(db);
}
