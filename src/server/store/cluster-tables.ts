import { sql, type Kysely } from 'kysely';
import { isPostgres } from './engine-of.ts';

/**
 * Step: what several gateways of one database tell each other. A service with a directory of its own has no use for it.
 *
 * All times are the database's own. `gateways`: who serves, until when, and the start of the oldest request that still runs there.
 * `garbage`: ids of the byte store that nothing refers to any more, when that was noted, and when the collector first saw it. `duties`:
 * work that one process at a time does, by whom and until when.
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
