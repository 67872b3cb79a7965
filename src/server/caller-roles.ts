import type { Kysely } from 'kysely';
import type { CallerRole } from '../policy/decide.ts';
import type { Caller } from './handler.ts';
import type { AccountRow, Schema } from './store/schema.ts';

type Db = Kysely<Schema>;
type Policies = CallerRole['policies'][number][];

async function listPoliciesOf(db: Db, roles: readonly string[]): Promise<ReadonlyMap<string, Policies>> {
  const found = new Map<string, Policies>();
  if (roles.length === 0) return found;
  const rows = await db
    .selectFrom('role_policies')
    .innerJoin('policies', 'policies.id', 'role_policies.policy')
    .select(['role_policies.role', 'policies.name', 'policies.rules'])
    .where('role_policies.role', 'in', roles)
    .orderBy('role_policies.position')
    .execute();
  for (const { role, name, rules } of rows) {
    found.set(role, [...(found.get(role) ?? []), { name, rules: JSON.parse(rules) as string[] }]);
  }
  return found;
}

/** The roles of an account that have the caller, a sub-user or another account, as a member. */
export async function listCallerRoles(db: Db, account: AccountRow, caller: Caller): Promise<CallerRole[]> {
  if (caller.kind === 'anonymous') return [];
  const member = caller.kind === 'user' ? caller.user.id : caller.account.id;
  const rows = await db
    .selectFrom('role_members')
    .innerJoin('roles', 'roles.id', 'role_members.role')
    .select(['roles.id', 'roles.name', 'role_members.is_default'])
    .where('role_members.member', '=', member)
    .where('roles.account', '=', account.id)
    .execute();
  const policies = await listPoliciesOf(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map(({ id, name, is_default: active }) => ({
    name,
    membership: active === 1 ? 'default' : 'member',
    policies: policies.get(id) ?? [],
  }));
}

/** The ids of roles of an account by their names, in the order of the names; `unknown` is the first name that no role has. */
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

/** The names of roles of an account by their ids, in the order of the ids; those that are gone are left out. */
export async function findRoleNames(db: Db, account: AccountRow, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('roles').select(['id', 'name']).where('account', '=', account.id).where('id', 'in', ids).execute();
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return ids.flatMap((id) => names.get(id) ?? []);
}

/** Names separated by commas, as headers and `as-role` have them. */
export function splitNames(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
