import { sql, type Kysely } from 'kysely';
import { createTable } from './create-table.ts';

/** Columns that accounts and users share. */
const contact = `email text, company_name text null, first_name text null, last_name text null, address text null, postal_code text null,
  city text null, state text null, country text null, phone text null, created integer, updated integer`;

async function createAccountTables(db: Kysely<never>): Promise<void> {
  await createTable(db, 'accounts', `${contact}, id text key, login text unique, cns_enabled integer zero, default_network text null`);
  await createTable(db, 'users', `${contact}, id text key, account text accounts.id, login text, login_key text, password text`, {
    unique: ['users_login', ['account', 'login_key']],
  });
  await createTable(
    db,
    'keys',
    `sequence integer key counted, account text accounts.id, user text null users.id, name text, fingerprint text,
      key text, attestation text null, multifactor text null, created integer`,
  );
  await db.schema.createIndex('keys_of_account').on('keys').columns(['account', 'user', 'fingerprint']).execute();
}

async function createCloudTables(db: Kysely<never>): Promise<void> {
  await createTable(db, 'networks', 'id text key, name text');
  for (const table of ['datacenters', 'services']) await createTable(db, table, 'name text key, url text');
  await createTable(
    db,
    'images',
    `id text key, name text, version text, os text, type text, owner text, public integer, state text,
      published_at integer null, description text null, homepage text null, eula text null, origin text null,
      requirements text, files text, tags text, acl text, error text null`,
  );
  await createTable(
    db,
    'packages',
    `id text key, name text, version text, memory integer, disk integer, swap integer, lwps integer, vcpus integer,
      group text null, description text null, brand text null, disks text null, flexible_disk integer,
      is_default integer`,
  );
}

async function createEntryTable(db: Kysely<never>): Promise<void> {
  // Rows are stored in the order of the primary key, so that a listing is one range of the file.
  await createTable(
    db,
    'entries',
    `parent text, name text, type text, etag text null, mtime integer, size integer null, md5 text null,
      content text null, copies integer null, headers text, role_tags text, children integer zero`,
    { key: ['parent', 'name'], keyName: 'entries_path', isOrdered: true },
  );
  await sql`create index entries_content on entries (content) where content is not null`.execute(db);
}

/** Migration step 1: accounts with users and keys, the data of the compute service, and the entries of the object storage. */
export async function createFirstTables(db: Kysely<never>): Promise<void> {
  await createAccountTables(db);
  await createCloudTables(db);
  await createEntryTable(db);
}
