import { sql, type Kysely } from 'kysely';

/** Migration step: an index that finds old completed jobs without reading the whole table. */
export async function createOldJobsIndex(db: Kysely<never>): Promise<void> {
  await sql`create index jobs_by_end on jobs (done)`.execute(db);
}
