import type { Kysely } from 'kysely';
import { addColumns, createTable } from './create-table.ts';

async function createPolicyTables(db: Kysely<never>): Promise<void> {
  await createTable(
    db,
    'policies',
    `id text key, account text accounts.id, name text, rules text, description text null, created integer`,
    { unique: ['policies_name', ['account', 'name']] },
  );
  await createTable(db, 'roles', `id text key, account text accounts.id, name text, created integer`, {
    unique: ['roles_name', ['account', 'name']],
  });
  await createTable(db, 'role_policies', 'role text roles.id, policy text policies.id, position integer', { key: ['role', 'policy'] });
  await db.schema.createIndex('role_policies_policy').on('role_policies').column('policy').execute();
}

async function createRoleTables(db: Kysely<never>): Promise<void> {
  await createTable(db, 'role_members', `role text roles.id, type text, member text, is_default integer, position integer`, {
    key: ['role', 'member'],
  });
  await db.schema.createIndex('role_members_member').on('role_members').column('member').execute();
  await createTable(db, 'role_tags', `account text accounts.id, resource text, role text roles.id, position integer`, {
    key: ['account', 'resource', 'role'],
  });
  await db.schema.createIndex('role_tags_role').on('role_tags').column('role').execute();
  await createTable(db, 'changes', 'sequence integer key counted, account text, kind text, id text, at integer, before text null');
  await db.schema.createIndex('changes_at').on('changes').columns(['account', 'kind', 'at']).execute();
}

async function createMachineTables(db: Kysely<never>): Promise<void> {
  await createTable(db, 'limits', 'account text accounts.id, by text, value integer, check text null, os text null, image text null');
  await createTable(
    db,
    'machines',
    `id text key, account text accounts.id, name text, brand text, state text, image text, os text, memory integer,
      disk integer, package text, created integer`,
  );
  await createTable(db, 'image_creations', 'image text key images.id, job text, machine text, due integer, fails text null');
  await addColumns(db, 'images', 'content text null');
  await db.schema.createIndex('images_content').on('images').column('content').execute();
  await db.schema.createIndex('images_origin').on('images').column('origin').execute();
}

/** Migration step 3: roles, policies and role tags, instances and limits, and the files of images. */
export async function createComputeTables(db: Kysely<never>): Promise<void> {
  await createPolicyTables(db);
  await createRoleTables(db);
  await createMachineTables(db);
}
