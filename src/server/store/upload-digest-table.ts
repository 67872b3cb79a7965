import type { Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';
import { createTable } from './create-table.ts';

/**
 * Migration step: the MD5 state of each open upload, so that any process that receives the next part or the commit can continue from there.
 * On SQLite the only process keeps it in memory.
 */
export async function createUploadDigestTable(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await createTable(db, 'upload_digests', 'upload text key uploads.id, parts integer, chain text, state blob');
}
