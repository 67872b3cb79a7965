import { sql, type Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Migration step: how many tasks each gateway and worker of a cluster runs concurrently, and the name under which it claims them, which
 * stays the same when a lease is taken again; null if its release is older and does not report them.
 */
export async function addMemberSlots(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`alter table gateways add column if not exists slots integer`.execute(db);
  await sql`alter table gateways add column if not exists owner text collate "C"`.execute(db);
}
