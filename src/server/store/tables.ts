import { sql, type CreateTableBuilder, type Kysely } from 'kysely';

function addContactColumns<T extends string>(table: CreateTableBuilder<T>): CreateTableBuilder<T, string> {
  return table
    .addColumn('email', 'text', (column) => column.notNull())
    .addColumn('company_name', 'text')
    .addColumn('first_name', 'text')
    .addColumn('last_name', 'text')
    .addColumn('address', 'text')
    .addColumn('postal_code', 'text')
    .addColumn('city', 'text')
    .addColumn('state', 'text')
    .addColumn('country', 'text')
    .addColumn('phone', 'text')
    .addColumn('created', 'integer', (column) => column.notNull())
    .addColumn('updated', 'integer', (column) => column.notNull());
}

async function createAccountTables(db: Kysely<never>): Promise<void> {
  await addContactColumns(db.schema.createTable('accounts'))
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('login', 'text', (column) => column.notNull().unique())
    .addColumn('cns_enabled', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('default_network', 'text')
    .execute();
  await addContactColumns(db.schema.createTable('users'))
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account', 'text', (column) => column.notNull().references('accounts.id').onDelete('cascade'))
    .addColumn('login', 'text', (column) => column.notNull())
    .addColumn('login_key', 'text', (column) => column.notNull())
    .addColumn('password', 'text', (column) => column.notNull())
    .addUniqueConstraint('users_login', ['account', 'login_key'])
    .execute();
  await db.schema
    .createTable('keys')
    .addColumn('sequence', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('account', 'text', (column) => column.notNull().references('accounts.id').onDelete('cascade'))
    .addColumn('user', 'text', (column) => column.references('users.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('attestation', 'text')
    .addColumn('multifactor', 'text')
    .addColumn('created', 'integer', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('keys_of_account').on('keys').columns(['account', 'user', 'fingerprint']).execute();
}

async function createCloudTables(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('networks')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .execute();
  for (const table of ['datacenters', 'services']) {
    await db.schema
      .createTable(table)
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('url', 'text', (column) => column.notNull())
      .execute();
  }
  await db.schema
    .createTable('images')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('os', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('public', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('published_at', 'integer')
    .addColumn('description', 'text')
    .addColumn('homepage', 'text')
    .addColumn('eula', 'text')
    .addColumn('origin', 'text')
    .addColumn('requirements', 'text', (column) => column.notNull())
    .addColumn('files', 'text', (column) => column.notNull())
    .addColumn('tags', 'text', (column) => column.notNull())
    .addColumn('acl', 'text', (column) => column.notNull())
    .addColumn('error', 'text')
    .execute();
  await db.schema
    .createTable('packages')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('memory', 'integer', (column) => column.notNull())
    .addColumn('disk', 'integer', (column) => column.notNull())
    .addColumn('swap', 'integer', (column) => column.notNull())
    .addColumn('lwps', 'integer', (column) => column.notNull())
    .addColumn('vcpus', 'integer', (column) => column.notNull())
    .addColumn('group', 'text')
    .addColumn('description', 'text')
    .addColumn('brand', 'text')
    .addColumn('disks', 'text')
    .addColumn('flexible_disk', 'integer', (column) => column.notNull())
    .addColumn('is_default', 'integer', (column) => column.notNull())
    .execute();
}

async function createEntryTable(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('entries')
    .addColumn('parent', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('etag', 'text')
    .addColumn('mtime', 'integer', (column) => column.notNull())
    .addColumn('size', 'integer')
    .addColumn('md5', 'text')
    .addColumn('content', 'text')
    .addColumn('copies', 'integer')
    .addColumn('headers', 'text', (column) => column.notNull())
    .addColumn('role_tags', 'text', (column) => column.notNull())
    .addColumn('children', 'integer', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('entries_path', ['parent', 'name'])
    // Rows are stored in the order of the primary key, so that a listing is one range of the file.
    .modifyEnd(sql`without rowid`)
    .execute();
  await db.schema
    .createIndex('entries_content')
    .on('entries')
    .column('content')
    .where('content' as never, 'is not', null)
    .execute();
}

/** Migration step 1: accounts with users and keys, the data of the compute service, and the entries of the object storage. */
export async function createFirstTables(db: Kysely<never>): Promise<void> {
  await createAccountTables(db);
  await createCloudTables(db);
  await createEntryTable(db);
}
