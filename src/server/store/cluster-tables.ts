import { sql, type Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Migration step: tables through which several gateways of one database communicate. A service with a directory of its own does not need
 * them.
 *
 * All times are by the clock of the database. `gateways`: which gateways serve, until when, and the start of the oldest request that still
 * runs on each. `garbage`: unreferenced ids of the byte store, when they were noted, and when the collector first saw them. `duties`: work
 * that one process at a time does, with its holder and expiry.
 */
export async function createClusterTables(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  const statements = [
    sql`create table if not exists gateways (
      id text collate "C" primary key, address text collate "C" not null, started timestamptz not null, until timestamptz not null
    )`,
    sql`alter table gateways add column if not exists oldest timestamptz not null default clock_timestamp()`,
    sql`alter table gateways add column if not exists version text collate "C"`,
    sql`create table garbage (bytes text collate "C" primary key, noted timestamptz not null, seen timestamptz)`,
    sql`create index garbage_by_time on garbage (noted)`,
    sql`create table duties (name text collate "C" primary key, holder text collate "C" not null, until timestamptz not null)`,
  ];
  for (const statement of statements) await statement.execute(db);
}
