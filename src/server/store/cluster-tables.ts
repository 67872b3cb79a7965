import { randomUUID } from 'node:crypto';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { createTable } from './create-table.ts';
import { isPostgres } from './engine-of.ts';

/** A migration step of PostgreSQL only: a service with a directory of its own does not need what these statements create. */
export function onPostgres(...statements: readonly RawBuilder<unknown>[]): (db: Kysely<never>) => Promise<void> {
  return async (db) => {
    if (isPostgres(db)) for (const statement of statements) await statement.execute(db);
  };
}

/**
 * Migration step: tables through which several gateways of one database communicate.
 *
 * All times are by the clock of the database. `gateways`: which gateways serve, until when, and the start of the oldest request that still
 * runs on each. `garbage`: unreferenced ids of the byte store, when they were noted, and when the collector first saw them. `duties`: work
 * that one process at a time does, with its holder and expiry.
 */
export const createClusterTables = onPostgres(
  sql`create table if not exists gateways (
    id text collate "C" primary key, address text collate "C" not null, started timestamptz not null, until timestamptz not null
  )`,
  sql`alter table gateways add column if not exists oldest timestamptz not null default clock_timestamp()`,
  sql`alter table gateways add column if not exists version text collate "C"`,
  sql`create table garbage (bytes text collate "C" primary key, noted timestamptz not null, seen timestamptz)`,
  sql`create index garbage_by_time on garbage (noted)`,
  sql`create table duties (name text collate "C" primary key, holder text collate "C" not null, until timestamptz not null)`,
);

/** Migration step: the audit log of gateways. */
export const createAuditTable = onPostgres(
  sql`create table audit (
    sequence bigint generated always as identity primary key, at timestamptz not null default clock_timestamp(),
    account text collate "C", actor text collate "C" not null, key text collate "C", address text collate "C" not null,
    request text collate "C", action text collate "C" not null, subject text collate "C" not null, details text collate "C" not null
  )`,
  sql`create index audit_by_time on audit (at)`,
  sql`create index audit_by_account on audit (account, sequence)`,
);

/**
 * Migration step: changes of entry counts. If all writers in a directory updated its row, they would wait for each other. SQLite has only
 * one writer, so the count stays in the row.
 */
export async function createCountTable(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await createTable(db, 'count_changes', `parent text, name text, number integer counted, change integer`, {
    key: ['parent', 'name', 'number'],
    keyName: 'count_changes_of_directory',
  });
}

/**
 * Migration step: the MD5 state of each open upload, so that any process that receives the next part or the commit can continue from there.
 * On SQLite the only process keeps it in memory.
 */
export async function createUploadDigestTable(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await createTable(db, 'upload_digests', 'upload text key uploads.id, parts integer, chain text, state blob');
}

/**
 * Migration step: the rate limits of accounts, shared by gateways: for each account the tokens in its bucket, the tokens last taken, and
 * when. The table is unlogged: nothing is flushed for it, and it is empty after a crash.
 */
export const createRequestTokens = onPostgres(sql`create unlogged table request_tokens (
  account text collate "C" primary key, tokens double precision not null, granted double precision not null, at timestamptz not null
)`);

/**
 * Migration step: how many tasks each gateway and worker of a cluster runs concurrently, and the name under which it claims them, which
 * stays the same when a lease is taken again; null if its release is older and does not report them.
 */
export const addMemberSlots = onPostgres(
  sql`alter table gateways add column if not exists slots integer`,
  sql`alter table gateways add column if not exists owner text collate "C"`,
);

/**
 * Migration step: `gateways.keep` and `contents_folder.keep`: milliseconds for which a gateway, and the cluster, keep unreferenced contents;
 * `gateways.skew`: milliseconds by which the clock of a member is ahead of the database's; `contents_folder.collections`: number of
 * collections so far, by which a copy of the database is told from the database that goes on.
 */
export const addCollections = onPostgres(
  sql`alter table gateways add column if not exists keep bigint`,
  sql`alter table gateways add column if not exists skew double precision`,
  sql`alter table contents_folder add column keep bigint`,
  sql`alter table contents_folder add column collections bigint not null default 0`,
);

/**
 * Migration step: one row with the id that marks the contents folder of a cluster, and whether a folder has been marked. A service with a
 * directory of its own also has its database there, and needs no mark.
 */
export async function createContentsFolder(db: Kysely<never>): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`create table contents_folder (id text collate "C" primary key, marked boolean not null default false)`.execute(db);
  await sql`insert into contents_folder (id) values (${randomUUID()})`.execute(db);
}
