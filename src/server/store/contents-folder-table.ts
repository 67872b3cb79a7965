import { randomUUID } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Step: the id that the folder of the contents of a cluster is marked with, in one row, and whether a folder has been. A service with a
 * directory of its own has the database in it too.
 */
export async function createContentsFolder(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`create table contents_folder (id text collate "C" primary key, marked boolean not null default false)`.execute(db);
  await sql`insert into contents_folder (id) values (${randomUUID()})`.execute(db);
}
