import { sql, type Kysely } from 'kysely';

/** Step: jobs that have been done for long are found without reading the whole table. */
export async function createOldJobsIndex(db: Kysely<never>): Promise<void> {
  await sql`create index jobs_by_end on jobs (done)`.execute(db);
}
