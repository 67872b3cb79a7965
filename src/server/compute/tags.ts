import type { Kysely, Transaction } from 'kysely';
import { isResourcePath } from '../../api/collections.ts';
import { compute } from '../../api/compute.ts';
import type { Headers } from '../../api/message.ts';
import type { Operation } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { splitList } from '../../base/split-list.ts';
import { findRoleIds } from '../access/caller-roles.ts';
import { noteAudit } from '../access/audit.ts';
import { createMissingError } from '../http/input-errors.ts';
import { Answer, type Call, type Handler } from '../http/handler.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import { findResource, locateResource, type Resource } from './resources.ts';

/** Names of the roles that a resource itself is tagged with. @param key see `Resource.key` */
export async function listTags(db: Kysely<Schema>, account: AccountRow, key: string): Promise<string[]> {
  const rows = await db
    .selectFrom('role_tags')
    .innerJoin('roles', 'roles.id', 'role_tags.role')
    .select('roles.name')
    .where('role_tags.account', '=', account.id)
    .where('role_tags.resource', '=', key)
    .orderBy('role_tags.position')
    .execute();
  return rows.map(({ name }) => name);
}

async function writeTags(transaction: Transaction<Schema>, account: AccountRow, key: string, ids: readonly string[]): Promise<void> {
  await transaction.deleteFrom('role_tags').where('account', '=', account.id).where('resource', '=', key).execute();
  if (ids.length === 0) return;
  const rows = ids.map((role, position) => ({ account: account.id, resource: key, role, position }));
  await transaction.insertInto('role_tags').values(rows).execute();
}

/** Removes the tags of a deleted resource, and of resources below it. */
export async function clearTags(transaction: Transaction<Schema>, account: AccountRow, key: string): Promise<void> {
  await transaction
    .deleteFrom('role_tags')
    .where('account', '=', account.id)
    .where((where) => where.or([where('resource', '=', key), where('resource', 'like', `${key}/%`)]))
    .execute();
}

async function requireRoleIds(db: Kysely<Schema>, account: AccountRow, names: readonly string[]): Promise<string[]> {
  const { ids, unknown } = await findRoleIds(db, account, names);
  if (unknown !== undefined) throw new ApiError(409, 'InvalidArgument', `role-tag: the account has no role "${unknown}"`);
  return ids;
}

/**
 * SetRoleTags. For the account without `role-tag` it returns the current tags, as deployed services do. Errors: 409 `InvalidArgument` for a
 * path that is not a resource or a role that does not exist, 409 `MissingParameter`, 404 for a missing member.
 */
export const setRoleTags: Handler<typeof compute.setRoleTags> = async ({ resource: path, 'role-tag': given }, call) => {
  const { operation, account, store } = call;
  const [, ...parts] = path.split('/');
  if (!isResourcePath(parts)) throw new ApiError(409, 'InvalidArgument', `/${path} is not the path of a resource that can be tagged`);
  if (given === undefined) {
    if (parts.length > 0) throw createMissingError(operation, ['role-tag']);
    return { name: `/${account.login}`, 'role-tag': await listTags(store.db, account, '') };
  }
  const names = given.flatMap((list) => splitList(list));
  return store.write(async (transaction) => {
    const resource = await findResource(transaction, call, parts);
    if (resource?.key === undefined) throw new ApiError(404, 'ResourceNotFound', `/${path} does not exist`);
    await writeTags(transaction, account, resource.key, await requireRoleIds(transaction, account, names));
    const tags = await listTags(transaction, account, resource.key);
    await noteAudit(transaction, call, resource.key, { 'role-tag': tags });
    return { name: ['', account.login, ...parts].join('/'), 'role-tag': tags };
  });
};

/** Key of the resource that an operation created or changed. */
function findSubject({ creates }: Operation, resource: Resource, result: unknown): string | undefined {
  if (!creates) return resource.key;
  const { id, fingerprint } = result as { id?: string; fingerprint?: string };
  const member = fingerprint ?? id;
  return member === undefined ? undefined : `${resource.collection}/${member}`;
}

async function hasTags({ store, account }: Call): Promise<boolean> {
  return (
    (await store.db.selectFrom('role_tags').select('role').where('account', '=', account.id).limit(1).executeTakeFirst()) !== undefined
  );
}

/** The response header that shows the tags of a resource that was read. */
async function showTags(call: Call, parts: readonly string[]): Promise<Headers> {
  if (!(await hasTags(call))) return {};
  const resource = await findResource(call.store.db, call, parts);
  const tags = resource?.key === undefined ? [] : await listTags(call.store.db, call.account, resource.key);
  return tags.length === 0 ? {} : { 'role-tag': tags.join(',') };
}

/** True if the request header `role-tag` applies: it tags the resource that the operation creates or changes. */
function takesTags({ method, resource }: Operation, headers: Headers): boolean {
  return headers['role-tag'] !== undefined && (method === 'POST' || method === 'PUT') && resource !== 'input';
}

/**
 * Runs an operation of the compute service with role tags: a request header `role-tag` tags the created or changed resource, and the
 * response to a read shows the tags of the resource.
 * @throws {ApiError} 409 `InvalidArgument` for a role that does not exist, before the operation runs
 */
export async function withRoleTags(
  call: Call,
  inputs: Readonly<Record<string, string>>,
  work: () => Promise<unknown>,
): Promise<{ result: unknown; headers: Headers }> {
  const { operation, account, store, headers } = call;
  if (operation.resource === 'none') return { result: await work(), headers: {} };
  const parts = locateResource(operation, inputs);
  if (operation.method === 'GET') return { result: await work(), headers: await showTags(call, parts) };
  if (!takesTags(operation, headers)) return { result: await work(), headers: {} };
  const resource = await findResource(store.db, call, parts);
  // A missing resource is reported before its tags are validated.
  if (!operation.creates && resource?.key === undefined) return { result: await work(), headers: {} };
  // Tagging an existing resource requires the permission for SetRoleTags.
  if (!operation.creates) await call.requireAccess(compute.setRoleTags, { resource: [account.login, ...parts].join('/') });
  const ids = await requireRoleIds(store.db, account, splitList(headers['role-tag']));
  const result = await work();
  const key = resource && findSubject(operation, resource, result instanceof Answer ? result.value : result);
  if (key === undefined) return { result, headers: {} };
  await store.write(async (transaction) => {
    await writeTags(transaction, account, key, ids);
    await noteAudit(transaction, call, key, { 'role-tag': await listTags(transaction, account, key) });
  });
  return { result, headers: {} };
}
