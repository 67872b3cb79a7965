import { randomUUID } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Migration step: one row with the id that marks the contents folder of a cluster, and whether a folder has been marked. A service with a
 * directory of its own also has its database there, and needs no mark.
 */
export async function createContentsFolder(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`create table contents_folder (id text collate "C" primary key, marked boolean not null default false)`.execute(db);
  await sql`insert into contents_folder (id) values (${randomUUID()})`.execute(db);
}
