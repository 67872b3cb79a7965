import type { Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Migration step: the MD5 state of each open upload, so that any process that receives the next part or the commit can continue from there.
 * On SQLite the only process keeps it in memory.
 */
export async function createUploadDigestTable(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await db.schema
    .createTable('upload_digests')
    .addColumn('upload', 'text', (column) => column.primaryKey().references('uploads.id').onDelete('cascade'))
    .addColumn('parts', 'integer', (column) => column.notNull())
    .addColumn('chain', 'text', (column) => column.notNull())
    .addColumn('state', 'blob', (column) => column.notNull())
    .execute();
}
