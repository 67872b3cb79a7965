import { sql, type Kysely } from 'kysely';

/** Migration step 6: indexes that let limits be checked without reading whole tables. */
export async function createLimitIndexes(db: Kysely<never>): Promise<void> {
  await sql`create index if not exists images_owner on images (owner)`.execute(db);
  await sql`create index if not exists uploads_open on uploads (account) where state <> 'done'`.execute(db);
}

/** Migration step: an index of the outputs whose paths tasks chose, which are few. */
export async function createNamedOutputsIndex(db: Kysely<never>): Promise<void> {
  await sql`create index if not exists job_outputs_named on job_outputs (job, output) where given = 1`.execute(db);
}

/** Migration step: indexes that let images and jobs be selected without reading those of other accounts, or all jobs of an account. */
export async function createSelectionIndexes(db: Kysely<never>): Promise<void> {
  await sql`create index if not exists images_public on images (id) where public = 1`.execute(db);
  await sql`create index if not exists images_shared on images (id) where acl <> '[]'`.execute(db);
  await sql`create index if not exists jobs_by_state on jobs (account, state, id)`.execute(db);
  await sql`create index if not exists jobs_by_name on jobs (account, name, id, state)`.execute(db);
}
