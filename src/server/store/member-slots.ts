import { sql, type Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Step: how many tasks each gateway and worker of a cluster does at once, and the name under which it claims them, which stays when a lease is
 * taken again; null where a release before this one does not tell.
 */
export async function addMemberSlots(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`alter table gateways add column if not exists slots integer`.execute(db);
  await sql`alter table gateways add column if not exists owner text collate "C"`.execute(db);
}
