import { randomUUID } from 'node:crypto';
import type { compute } from '../../api/compute.ts';
import type { User } from '../../api/resources.ts';
import { ApiError } from '../../base/errors.ts';
import { findUser } from '../access/accounts.ts';
import { nameFields, noteAudit } from '../access/audit.ts';
import { Answer, type Call, type Handler } from '../http/handler.ts';
import { assertRoom } from '../limit.ts';
import type { UserRow } from '../store/schema.ts';
import { checkEmail, emptyContact, readContact, showContact } from './contact.ts';
import { assertListFits } from './list-limit.ts';
import { checkFree, createFieldError, createUnknownError, requireUser } from './names.ts';
import { checkPassword, hashPassword } from './passwords.ts';
import { noteRoles, selectRolesOf, type RoleRecord } from './role-records.ts';
import { noteChange, showPast } from './staleness.ts';
import { clearTags } from './tags.ts';

/** A sub-user without the password, for responses and change notes. */
type UserRecord = Omit<UserRow, 'password'>;

function recordOf({ password: _password, ...record }: UserRow): UserRecord {
  return record;
}

function showUser(record: UserRecord): User {
  return { id: record.id, login: record.login, ...showContact(record) };
}

async function listUserRecords(call: Call): Promise<UserRecord[]> {
  const rows = await call.store.db.selectFrom('users').selectAll().where('account', '=', call.account.id).orderBy('created').execute();
  return showPast(call, 'user', rows.map(recordOf));
}

/** ListUsers, oldest first. */
export const listUsers: Handler<typeof compute.listUsers> = async (_, call) => (await listUserRecords(call)).map(showUser);

/** What of a role tells whether a user is a member. */
interface RoleMembership extends Pick<RoleRecord, 'id' | 'name'> {
  readonly members: readonly Pick<RoleRecord['members'][number], 'id' | 'default'>[];
}

function showMembership(user: UserRecord, roles: readonly RoleMembership[]): Pick<User, 'roles' | 'default_roles'> {
  const having = roles.flatMap(({ name, members }) => members.filter(({ id }) => id === user.id).map((member) => ({ name, ...member })));
  return { roles: having.map(({ name }) => name), default_roles: having.filter((role) => role.default).map(({ name }) => name) };
}

/** Reads one sub-user for a response; without staleness that is a query of one row. */
async function readUser(call: Call, name: string): Promise<UserRecord | undefined> {
  if ((call.settings.staleness ?? 0) <= 0) {
    const user = await findUser(call.store.db, call.account, name);
    return user && recordOf(user);
  }
  const records = await listUserRecords(call);
  return records.find(({ id, login_key: login }) => [id, login].includes(name.toLowerCase()));
}

/** GetUser, by login or id; with `membership` the response includes the names of the user's roles. */
export const getUser: Handler<typeof compute.getUser> = async ({ user: name, membership }, call) => {
  const user = await readUser(call, name);
  if (user === undefined) throw createUnknownError('user', name);
  if (membership !== true) return showUser(user);
  const rows = await selectRolesOf(call.store.db, call.account, user.id).execute();
  const current = rows.map(({ id, name, is_default: active }) => ({ id, name, members: [{ id: user.id, default: active === 1 }] }));
  // Roles that the user has left since are among the earlier states.
  const roles = await showPast<RoleMembership>(call, 'role', current);
  return { ...showUser(user), ...showMembership(user, roles) };
};

function checkLogin(login: string): void {
  if (/^[a-z][a-z0-9_.@-]{2,31}$/iu.test(login)) return;
  throw createFieldError('login', 'must have 3 to 32 characters: a letter, then letters, digits, _ . @ -');
}

/** CreateUser. Errors: 409 `InvalidArgument` for a login that is taken or malformed, an invalid e-mail address or a weak password. */
export const createUser: Handler<typeof compute.createUser> = async (input, call) => {
  const { account, store, now } = call;
  checkLogin(input.login);
  checkEmail(input.email);
  checkPassword(input.password);
  const at = now();
  const { login, email } = input;
  const row: UserRow = {
    ...emptyContact,
    ...readContact(input),
    email,
    id: randomUUID(),
    account: account.id,
    login,
    login_key: login.toLowerCase(),
    password: await hashPassword(input.password),
    created: at,
    updated: at,
  };
  await store.write(async (transaction) => {
    await checkFree(transaction, 'users', account, { id: row.id, name: login });
    const users = transaction.selectFrom('users').select('login_key').where('account', '=', account.id);
    await assertRoom(call.settings, 'users', users, { has: 'an account has', counted: 'users' });
    await transaction.insertInto('users').values(row).execute();
    await assertListFits(transaction, call, 'users', row);
    await noteChange(transaction, call, 'user', row.id, undefined);
    await noteAudit(transaction, call, `users/${row.id}`, { login });
  });
  return new Answer(showUser(row), { headers: { location: `/${account.login}/users/${row.id}` } });
};

async function changeUser(name: string, changes: Partial<UserRow>, call: Call): Promise<User> {
  const { account, store, now } = call;
  const row = await store.write(async (transaction) => {
    const user = await requireUser(transaction, account, name);
    if (Object.keys(changes).length === 0) return user;
    if (changes.login !== undefined) await checkFree(transaction, 'users', account, { id: user.id, name: changes.login });
    await noteChange(transaction, call, 'user', user.id, recordOf(user));
    if (changes.login !== undefined && changes.login !== user.login) await noteRoles(transaction, call, { member: user.id });
    const values = { ...changes, updated: now() };
    await noteAudit(transaction, call, `users/${user.id}`, { login: changes.login ?? user.login, changed: nameFields(changes) });
    const after = await transaction.updateTable('users').set(values).where('id', '=', user.id).returningAll().executeTakeFirstOrThrow();
    await assertListFits(transaction, call, 'users', after, user);
    return after;
  });
  return showUser(row);
}

/** UpdateUser: an empty string clears a field. It does not change the password. */
export const updateUser: Handler<typeof compute.updateUser> = async (input, call) => {
  const { user, login } = input;
  // Looked up first, so that a user who does not exist is 404 whatever the fields are.
  await requireUser(call.store.db, call.account, user);
  checkEmail(input.email);
  if (login !== undefined) checkLogin(login);
  return changeUser(user, { ...readContact(input), ...(login !== undefined && { login, login_key: login.toLowerCase() }) }, call);
};

/** ChangeUserPassword. Errors: 409 `InvalidArgument` if the two passwords differ or the password is too weak. */
export const changeUserPassword: Handler<typeof compute.changeUserPassword> = async (input, call) => {
  const { user, password, password_confirmation: again } = input;
  await requireUser(call.store.db, call.account, user);
  if (password !== again) throw new ApiError(409, 'InvalidArgument', 'password and password_confirmation must be the same');
  checkPassword(password);
  return changeUser(user, { password: await hashPassword(password) }, call);
};

/** DeleteUser, by login or id: also deletes its keys and memberships. */
export const deleteUser: Handler<typeof compute.deleteUser> = async ({ user: name }, call) => {
  const { account, store } = call;
  await store.write(async (transaction) => {
    const user = await requireUser(transaction, account, name);
    await noteChange(transaction, call, 'user', user.id, recordOf(user));
    await noteRoles(transaction, call, { member: user.id });
    await transaction.deleteFrom('role_members').where('member', '=', user.id).execute();
    await clearTags(transaction, account, `users/${user.id}`);
    await transaction.deleteFrom('users').where('id', '=', user.id).execute();
    await noteAudit(transaction, call, `users/${user.id}`, { login: user.login });
  });
  return {};
};
