import { randomUUID } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { compute } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type { Role } from '../../api/resources.ts';
import { ApiError } from '../../base/errors.ts';
import { isUuid } from '../../base/uuid.ts';
import { administratorRole } from '../../policy/decide.ts';
import { findAccount, findUser } from '../access/accounts.ts';
import { noteAudit, type AuditDetails } from '../access/audit.ts';
import { Answer, type Call, type Handler } from '../http/handler.ts';
import { assertRoom, assertWithinLimit } from '../limit.ts';
import { hasOldRoles } from '../http/version.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import { assertMembersFit } from './list-limit.ts';
import { checkFree, findOwn, pickByIdOrName, readName, createUnknownError } from './names.ts';
import { showOldRole, type OldRole } from './old-roles.ts';
import { listRoleRecords, type MemberRecord, type RoleRecord } from './role-records.ts';
import { noteChange, showPast } from './staleness.ts';
import { clearTags } from './tags.ts';

type RoleInput = Omit<InputOf<typeof compute.updateRole>, 'account' | 'role'> & OldRole;
type Db = Kysely<Schema>;

function showRole(record: RoleRecord, { version }: Call): Role {
  // The declared type is that of version 9; only the older one differs.
  return hasOldRoles(version) ? (showOldRole(record) as unknown as Role) : record;
}

async function listPast(call: Call): Promise<RoleRecord[]> {
  return showPast(call, 'role', await listRoleRecords(call.store.db, call.account));
}

/** ListRoles, oldest first. */
export const listRoles: Handler<typeof compute.listRoles> = async (_, call) => (await listPast(call)).map((role) => showRole(role, call));

/** A role in its current state, by id or name. @throws {ApiError} 404 `ResourceNotFound` */
async function requireRole(db: Db, account: AccountRow, name: string): Promise<RoleRecord> {
  const id = (await findOwn(db, 'roles', account, name))?.id;
  const [role] = id === undefined ? [] : await listRoleRecords(db, account, id);
  if (role === undefined) throw createUnknownError('role', name);
  return role;
}

/** GetRole, by id or name. */
export const getRole: Handler<typeof compute.getRole> = async ({ role: name }, call) => {
  if ((call.settings.staleness ?? 0) <= 0) return showRole(await requireRole(call.store.db, call.account, name), call);
  const role = pickByIdOrName(await listPast(call), name);
  if (role === undefined) throw createUnknownError('role', name);
  return showRole(role, call);
};

function createRoleError(message: string): ApiError {
  return new ApiError(409, 'InvalidArgument', message);
}

async function resolvePolicy(
  db: Db,
  account: AccountRow,
  { id, name }: { id?: string | undefined; name?: string | undefined },
  index: number,
): Promise<string> {
  const wanted = id ?? name;
  if (wanted === undefined) throw createRoleError(`policies[${index}] needs an id or a name`);
  const query = db.selectFrom('policies').select('id').where('account', '=', account.id);
  const found = await (id === undefined ? query.where('name', '=', wanted) : query.where('id', '=', id.toLowerCase())).executeTakeFirst();
  if (found === undefined) throw createRoleError(`policies: the account has no policy "${wanted}"`);
  return found.id;
}

type MemberInput = NonNullable<RoleInput['members']>[number];

async function resolveMember(db: Db, account: AccountRow, input: MemberInput, index: number): Promise<Omit<MemberRecord, 'login'>> {
  const { type = 'subuser', id, login, default: isDefault = false } = input;
  const wanted = id ?? login;
  if (wanted === undefined) throw createRoleError(`members[${index}] needs an id or a login`);
  if (id !== undefined && !isUuid(id)) throw createRoleError(`members[${index}].id must be a UUID, not "${id}"`);
  const found = type === 'subuser' ? await findUser(db, account, wanted) : await findAccount(db, 'compute', wanted);
  if (found === undefined) throw createRoleError(`members: there is no ${type === 'subuser' ? 'user' : 'account'} "${wanted}"`);
  if (found.id === account.id) throw createRoleError(`members: ${account.login} is the account itself, which needs no role`);
  return { type, id: found.id, default: isDefault };
}

/** The form of version 8 lists default members separately, and may list them alone. */
function mergeDefaults(
  { members, default_members: defaults }: RoleInput,
  existing: readonly MemberRecord[],
): readonly MemberInput[] | undefined {
  if (defaults === undefined) return members;
  const active = new Map(defaults.map((login) => [login.toLowerCase(), login]));
  const all: MemberInput[] = [...(members ?? existing)];
  const present = new Set(all.map((member) => member.login?.toLowerCase()));
  const missing = [...active].filter(([key]) => !present.has(key)).map(([, login]) => login);
  return [...all, ...missing.map((login): MemberInput => ({ login }))].map((member) => ({
    ...member,
    default: active.has(member.login?.toLowerCase() ?? ''),
  }));
}

/**
 * The members of a role after an update. Version 9 replaces the list. Version 8, and default members alone in version 9, name sub-users
 * only. Sub-users that stay keep their properties, and other accounts stay members: a client that reads a role and writes it back does not
 * know of them.
 */
function mergeMembers(input: RoleInput, all: readonly MemberRecord[], { version }: Call): readonly MemberInput[] | undefined {
  if (!hasOldRoles(version) && input.members !== undefined) return mergeDefaults(input, all);
  const existing = all.filter(({ type }) => type === 'subuser');
  const members = mergeDefaults(input, existing);
  return members && [...keepMembers(members, existing), ...all.filter(({ type }) => type === 'account')];
}

function keepMembers(members: readonly MemberInput[], existing: readonly MemberRecord[]): readonly MemberInput[] {
  const byLogin = new Map<string, MemberRecord[]>();
  for (const member of existing) byLogin.set(member.login.toLowerCase(), [...(byLogin.get(member.login.toLowerCase()) ?? []), member]);
  return members.flatMap((member): MemberInput[] => {
    const had = (member.id === undefined ? byLogin.get(member.login?.toLowerCase() ?? '') : undefined) ?? [];
    return had.length === 0 ? [member] : had.map((each) => ({ ...each, default: member.default ?? each.default }));
  });
}

const memberSubject = { has: 'a role has', counted: 'members', field: 'members' };

/** @throws {LimitReached} before anything is looked up, because each member and policy costs a query */
function assertListsWithinLimits({ members, policies, default_members: defaults }: RoleInput, { settings }: Call): void {
  assertWithinLimit(settings, 'roleMembers', Math.max(members?.length ?? 0, defaults?.length ?? 0), memberSubject);
  assertWithinLimit(settings, 'rolePolicies', policies?.length ?? 0, { has: 'a role has', counted: 'policies', field: 'policies' });
}

async function writeMembers(
  transaction: Transaction<Schema>,
  call: Call,
  role: RoleRecord,
  members: readonly MemberInput[],
): Promise<void> {
  const { account, settings } = call;
  assertWithinLimit(settings, 'roleMembers', members.length, memberSubject);
  const resolved = new Map<string, Omit<MemberRecord, 'login'>>();
  for (const [index, input] of members.entries()) {
    const member = await resolveMember(transaction, account, input, index);
    resolved.set(member.id, { ...member, default: member.default || resolved.get(member.id)?.default === true });
  }
  await transaction.deleteFrom('role_members').where('role', '=', role.id).execute();
  const rows = [...resolved.values()].map(({ type, id, default: active }, position) => ({
    role: role.id,
    type,
    member: id,
    is_default: active ? 1 : 0,
    position,
  }));
  for (const row of rows) await transaction.insertInto('role_members').values(row).execute();
  await assertMembersFit(transaction, call, rows.length, role.members.length);
}

async function writePolicies(
  transaction: Transaction<Schema>,
  account: AccountRow,
  role: string,
  policies: NonNullable<RoleInput['policies']>,
): Promise<void> {
  const ids = new Set<string>();
  for (const [index, policy] of policies.entries()) ids.add(await resolvePolicy(transaction, account, policy, index));
  await transaction.deleteFrom('role_policies').where('role', '=', role).execute();
  for (const [position, policy] of [...ids].entries())
    await transaction.insertInto('role_policies').values({ role, policy, position }).execute();
}

/** Writes the fields of the input to an existing role. @returns the role after the change */
async function writeRole(transaction: Transaction<Schema>, input: RoleInput, before: RoleRecord, call: Call): Promise<RoleRecord> {
  const { account } = call;
  const members = mergeMembers(input, before.members, call);
  if (members !== undefined) await writeMembers(transaction, call, before, members);
  if (input.policies !== undefined) await writePolicies(transaction, account, before.id, input.policies);
  const role = await requireRole(transaction, account, before.id);
  if (role.name === administratorRole && role.policies.length > 0) {
    throw createRoleError(`the role ${administratorRole} may do everything and cannot have policies`);
  }
  return role;
}

/**
 * The members of `administrator` may do everything, so anybody else who could change that role could do everything too, and whoever could
 * delete it could take that away from them.
 * @throws {ApiError} 403 `NotAuthorized` for the name of that role, unless the caller is the account or one of its administrators
 */
function assertMayChange(name: string, { account }: Call, isAdministrator: boolean): void {
  if (name !== administratorRole || isAdministrator) return;
  const message = `only ${account.login} and members of the role ${administratorRole} may create, change or delete the role ${administratorRole}`;
  throw new ApiError(403, 'NotAuthorized', message);
}

/** @throws {ApiError} 409 `InvalidArgument` for a member without a type, which only API version 9 requires */
function assertTyped({ members = [] }: RoleInput, { version }: Call): void {
  const index = hasOldRoles(version) ? -1 : members.findIndex(({ type }) => type === undefined);
  if (index !== -1) throw createRoleError(`members[${index}].type is required: subuser or account`);
}

/** A role for the audit log. */
function nameParts({ name, policies, members }: RoleRecord): AuditDetails {
  return {
    name,
    policies: policies.map((policy) => policy.name),
    members: members.map(({ type, login, default: isDefault }) => ({ type, login, default: isDefault })),
  };
}

/** CreateRole. Errors: 409 `InvalidArgument` for a name that is taken, or an unknown member or policy; 403 for `administrator`. */
export const createRole: Handler<typeof compute.createRole> = async (input, call) => {
  const { account, store, now } = call;
  const name = readName(input.name, 'roles');
  assertMayChange(name, call, await call.isAdministrator());
  assertTyped(input, call);
  assertListsWithinLimits(input, call);
  const id = randomUUID();
  const role = await store.write(async (transaction) => {
    await checkFree(transaction, 'roles', account, { id, name });
    const roles = transaction.selectFrom('roles').select('name').where('account', '=', account.id);
    await assertRoom(call.settings, 'roles', roles, { has: 'an account has', counted: 'roles' });
    await transaction.insertInto('roles').values({ id, account: account.id, name, created: now() }).execute();
    await noteChange(transaction, call, 'role', id, undefined);
    const made = await writeRole(transaction, input, { id, name, policies: [], members: [] }, call);
    await noteAudit(transaction, call, `roles/${id}`, nameParts(made));
    return made;
  });
  return new Answer(showRole(role, call), { headers: { location: `/${account.login}/roles/${id}` } });
};

/** UpdateRole, by id or name: lists in the input replace the stored ones. Errors as for CreateRole. */
export const updateRole: Handler<typeof compute.updateRole> = async (input, call) => {
  const { account, store } = call;
  const isAdministrator = await call.isAdministrator();
  const role = await store.write(async (transaction) => {
    const before = await requireRole(transaction, account, input.role);
    const name = input.name === undefined ? undefined : readName(input.name, 'roles');
    assertTyped(input, call);
    assertListsWithinLimits(input, call);
    for (const each of [before.name, name ?? '']) assertMayChange(each, call, isAdministrator);
    await noteChange(transaction, call, 'role', before.id, before);
    if (name !== undefined) {
      await checkFree(transaction, 'roles', account, { id: before.id, name });
      await transaction.updateTable('roles').set({ name }).where('id', '=', before.id).execute();
    }
    const changed = await writeRole(transaction, input, before, call);
    await noteAudit(transaction, call, `roles/${before.id}`, nameParts(changed));
    return changed;
  });
  return showRole(role, call);
};

/** DeleteRole, by id only; also removes the role from the tags of resources. Errors: 403 `NotAuthorized` for `administrator`. */
export const deleteRole: Handler<typeof compute.deleteRole> = async ({ role: given }, call) => {
  const { account, store } = call;
  const id = given.toLowerCase();
  const isAdministrator = await call.isAdministrator();
  await store.write(async (transaction) => {
    const before = await requireRole(transaction, account, id);
    if (before.id !== id) throw createUnknownError('role with the id', given);
    assertMayChange(before.name, call, isAdministrator);
    await noteChange(transaction, call, 'role', id, before);
    await clearTags(transaction, account, `roles/${id}`);
    await transaction.deleteFrom('roles').where('id', '=', id).execute();
    await noteAudit(transaction, call, `roles/${id}`, { name: before.name });
  });
  return {};
};
