import { sql, type Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/** Migration step: the audit log of gateways. A service with a directory of its own keeps none. */
export async function createAuditTable(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  const statements = [
    sql`create table audit (
      sequence bigint generated always as identity primary key, at timestamptz not null default clock_timestamp(),
      account text collate "C", actor text collate "C" not null, key text collate "C", address text collate "C" not null,
      request text collate "C", action text collate "C" not null, subject text collate "C" not null, details text collate "C" not null
    )`,
    sql`create index audit_by_time on audit (at)`,
    sql`create index audit_by_account on audit (account, sequence)`,
  ];
  for (const statement of statements) await statement.execute(db);
}
