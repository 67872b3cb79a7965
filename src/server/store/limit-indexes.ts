import { sql, type Kysely } from 'kysely';

/** Step 6: what limits count is found without reading the whole table. */
export async function createLimitIndexes(db: Kysely<never>): Promise<void> {
  await sql`create index if not exists images_owner on images (owner)`.execute(db);
  await sql`create index if not exists uploads_open on uploads (account) where state <> 'done'`.execute(db);
}
