import type { Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Step: how far the MD5 of each open upload has come, so that whichever process gets the next part or the commit goes on from there. On SQLite
 * the only process has it in memory.
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
