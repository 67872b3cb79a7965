import { sql, type Kysely } from 'kysely';
import type { CallerRole } from '../../policy/decide.ts';
import type { Caller } from '../http/handler.ts';
import { prepareQuery } from '../store/prepared-query.ts';
import type { AccountRow, Schema } from '../store/schema.ts';

type Db = Kysely<Schema>;
type Policies = CallerRole['policies'][number][];

/** A role of an account of which the caller is a member. */
export interface Membership extends Pick<CallerRole, 'name' | 'membership'> {
  readonly id: string;
}

/**
 * Loads roles with their policies; undefined if the policies have more than `most` bytes.
 * @param roles the roles whose rules are to be evaluated
 */
export async function loadPolicies(db: Db, roles: readonly Membership[], most: number): Promise<CallerRole[] | undefined> {
  if (roles.length === 0) return [];
  const ids = roles.map(({ id }) => id);
  const ofRoles = db
    .selectFrom('role_policies')
    .innerJoin('policies', 'policies.id', 'role_policies.policy')
    .where('role_policies.role', 'in', ids);
  const size = ofRoles.select(sql<number>`coalesce(sum(length(policies.rules)), 0)`.as('size'));
  const rows = await ofRoles
    .select(['role_policies.role', 'policies.name', 'policies.rules'])
    .where(size, '<=', most)
    .orderBy('role_policies.position')
    .execute();
  // No rows: either there are no policies, or they have too many bytes.
  if (rows.length === 0 && (await size.executeTakeFirstOrThrow()).size > most) return undefined;
  const found = new Map(ids.map((id): [string, Policies] => [id, []]));
  for (const { role, name, rules } of rows) found.get(role)?.push({ name, rules: JSON.parse(rules) as string[] });
  return roles.map(({ id, name, membership }) => ({ name, membership, policies: found.get(id) ?? [] }));
}

const selectMemberships = prepareQuery((db, { member, account }: { member: string; account: string }) =>
  db
    .selectFrom('role_members')
    .innerJoin('roles', 'roles.id', 'role_members.role')
    .select(['roles.id', 'roles.name', 'role_members.is_default'])
    .where('role_members.member', '=', member)
    .where('roles.account', '=', account)
    .compile(),
);

/** The roles of an account of which the caller (a sub-user or another account) is a member. */
export async function listMemberships(db: Db, account: AccountRow, caller: Caller): Promise<Membership[]> {
  if (caller.kind === 'anonymous') return [];
  const member = caller.kind === 'user' ? caller.user.id : caller.account.id;
  const rows = await selectMemberships(db, { member, account: account.id });
  return rows.map(({ id, name, is_default: active }) => ({ id, name, membership: active === 1 ? 'default' : 'member' }));
}

/** Finds the ids of roles of an account by name, in the order of the names; `unknown` is the first name without a role. */
export async function findRoleIds(
  db: Db,
  account: AccountRow,
  names: readonly string[],
): Promise<{ ids: string[]; unknown: string | undefined }> {
  if (names.length === 0) return { ids: [], unknown: undefined };
  const rows = await db.selectFrom('roles').select(['id', 'name']).where('account', '=', account.id).where('name', 'in', names).execute();
  const ids = new Map(rows.map(({ id, name }) => [name, id]));
  return { ids: [...new Set(names)].flatMap((name) => ids.get(name) ?? []), unknown: names.find((name) => !ids.has(name)) };
}

/** Finds the names of roles of an account by id, in the order of the ids; roles that no longer exist are left out. */
export async function findRoleNames(db: Db, account: AccountRow, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('roles').select(['id', 'name']).where('account', '=', account.id).where('id', 'in', ids).execute();
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return ids.flatMap((id) => names.get(id) ?? []);
}
