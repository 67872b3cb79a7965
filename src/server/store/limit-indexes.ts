import { sql, type Kysely } from 'kysely';

/** Migration step 6: indexes that let limits be checked without reading whole tables. */
export async function createLimitIndexes(db: Kysely<never>): Promise<void> {
  await sql`create index if not exists images_owner on images (owner)`.execute(db);
  await sql`create index if not exists uploads_open on uploads (account) where state <> 'done'`.execute(db);
}
