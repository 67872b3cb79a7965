import type { Kysely, Transaction } from 'kysely';
import { groupBy } from '../../base/group-by.ts';
import type { Call } from '../http/handler.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import { noteChange } from './staleness.ts';

/** A member of a role. */
export interface MemberRecord {
  type: 'subuser' | 'account';
  id: string;
  login: string;
  default: boolean;
}

/** A role with its policies and members, in stored order. */
export interface RoleRecord {
  id: string;
  name: string;
  policies: { id: string; name: string }[];
  members: MemberRecord[];
}

type Db = Kysely<Schema>;

function listPolicyRows(db: Db, account: AccountRow) {
  return db
    .selectFrom('role_policies')
    .innerJoin('policies', 'policies.id', 'role_policies.policy')
    .select(['role_policies.role', 'policies.id', 'policies.name'])
    .where('policies.account', '=', account.id)
    .orderBy('role_policies.position');
}

function listMemberRows(db: Db, account: AccountRow) {
  return db
    .selectFrom('role_members')
    .innerJoin('roles', 'roles.id', 'role_members.role')
    .leftJoin('users', 'users.id', 'role_members.member')
    .leftJoin('accounts', 'accounts.id', 'role_members.member')
    .select(['role_members.role', 'role_members.type', 'role_members.member as id', 'role_members.is_default'])
    .select(['users.login as user', 'accounts.login as other'])
    .where('roles.account', '=', account.id)
    .orderBy('role_members.position');
}

/** The roles of an account, oldest first; with `only`, the role with that id. */
export async function listRoleRecords(db: Db, account: AccountRow, only?: string): Promise<RoleRecord[]> {
  const all = db.selectFrom('roles').select(['id', 'name']).where('account', '=', account.id).orderBy('created').orderBy('name');
  const roles = await (only === undefined ? all : all.where('id', '=', only)).execute();
  const policyRows = listPolicyRows(db, account);
  const memberRows = listMemberRows(db, account);
  const ofRole = ({ role }: { role: string }): string => role;
  const policies = groupBy(await (only === undefined ? policyRows : policyRows.where('role_policies.role', '=', only)).execute(), ofRole);
  const members = groupBy(await (only === undefined ? memberRows : memberRows.where('role_members.role', '=', only)).execute(), ofRole);
  return roles.map(({ id, name }) => ({
    id,
    name,
    policies: (policies.get(id) ?? []).map((policy) => ({ id: policy.id, name: policy.name })),
    members: (members.get(id) ?? []).map((member) => ({
      type: member.type,
      id: member.id,
      login: member.user ?? member.other ?? '',
      default: member.is_default === 1,
    })),
  }));
}

/** The roles of an account in which somebody is a member, oldest first, without reading other roles and members. */
export function selectRolesOf(db: Db, account: Pick<AccountRow, 'id'>, member: string) {
  return db
    .selectFrom('role_members')
    .innerJoin('roles', 'roles.id', 'role_members.role')
    .select(['roles.id', 'roles.name', 'role_members.is_default'])
    .where('role_members.member', '=', member)
    .where('roles.account', '=', account.id)
    .orderBy('roles.created')
    .orderBy('roles.name');
}

/** Stores the state of roles before a change of something that they show: a member's or policy's name, or its existence. */
export async function noteRoles(
  transaction: Transaction<Schema>,
  call: Call,
  { member, policy }: { member?: string; policy?: string },
): Promise<void> {
  if ((call.settings.staleness ?? 0) <= 0) return;
  for (const role of await listRoleRecords(transaction, call.account)) {
    const shows = role.members.some(({ id }) => id === member) || role.policies.some(({ id }) => id === policy);
    if (shows) await noteChange(transaction, call, 'role', role.id, role);
  }
}
