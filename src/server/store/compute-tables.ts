import type { Kysely } from 'kysely';

async function createPolicyTables(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('policies')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account', 'text', (column) => column.notNull().references('accounts.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('rules', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('created', 'integer', (column) => column.notNull())
    .addUniqueConstraint('policies_name', ['account', 'name'])
    .execute();
  await db.schema
    .createTable('roles')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account', 'text', (column) => column.notNull().references('accounts.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created', 'integer', (column) => column.notNull())
    .addUniqueConstraint('roles_name', ['account', 'name'])
    .execute();
  await db.schema
    .createTable('role_policies')
    .addColumn('role', 'text', (column) => column.notNull().references('roles.id').onDelete('cascade'))
    .addColumn('policy', 'text', (column) => column.notNull().references('policies.id').onDelete('cascade'))
    .addColumn('position', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('role_policies_key', ['role', 'policy'])
    .execute();
  await db.schema.createIndex('role_policies_policy').on('role_policies').column('policy').execute();
}

async function createRoleTables(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('role_members')
    .addColumn('role', 'text', (column) => column.notNull().references('roles.id').onDelete('cascade'))
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('member', 'text', (column) => column.notNull())
    .addColumn('is_default', 'integer', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('role_members_key', ['role', 'member'])
    .execute();
  await db.schema.createIndex('role_members_member').on('role_members').column('member').execute();
  await db.schema
    .createTable('role_tags')
    .addColumn('account', 'text', (column) => column.notNull().references('accounts.id').onDelete('cascade'))
    .addColumn('resource', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull().references('roles.id').onDelete('cascade'))
    .addColumn('position', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('role_tags_key', ['account', 'resource', 'role'])
    .execute();
  await db.schema.createIndex('role_tags_role').on('role_tags').column('role').execute();
  await db.schema
    .createTable('changes')
    .addColumn('sequence', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('at', 'integer', (column) => column.notNull())
    .addColumn('before', 'text')
    .execute();
  await db.schema.createIndex('changes_at').on('changes').columns(['account', 'kind', 'at']).execute();
}

async function createMachineTables(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('limits')
    .addColumn('account', 'text', (column) => column.notNull().references('accounts.id').onDelete('cascade'))
    .addColumn('by', 'text', (column) => column.notNull())
    .addColumn('value', 'integer', (column) => column.notNull())
    .addColumn('check', 'text')
    .addColumn('os', 'text')
    .addColumn('image', 'text')
    .execute();
  await db.schema
    .createTable('machines')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account', 'text', (column) => column.notNull().references('accounts.id').onDelete('cascade'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('brand', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('image', 'text', (column) => column.notNull())
    .addColumn('os', 'text', (column) => column.notNull())
    .addColumn('memory', 'integer', (column) => column.notNull())
    .addColumn('disk', 'integer', (column) => column.notNull())
    .addColumn('package', 'text', (column) => column.notNull())
    .addColumn('created', 'integer', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('image_creations')
    .addColumn('image', 'text', (column) => column.primaryKey().references('images.id').onDelete('cascade'))
    .addColumn('job', 'text', (column) => column.notNull())
    .addColumn('machine', 'text', (column) => column.notNull())
    .addColumn('due', 'integer', (column) => column.notNull())
    .addColumn('fails', 'text')
    .execute();
  await db.schema.alterTable('images').addColumn('content', 'text').execute();
  await db.schema.createIndex('images_content').on('images').column('content').execute();
  await db.schema.createIndex('images_origin').on('images').column('origin').execute();
}

/** Migration step 3: roles, policies and role tags, instances and limits, and the files of images. */
export async function createComputeTables(db: Kysely<never>): Promise<void> {
  await createPolicyTables(db);
  await createRoleTables(db);
  await createMachineTables(db);
}
