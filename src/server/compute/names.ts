import { sql, type Kysely } from 'kysely';
import { ApiError } from '../../base/errors.ts';
import { findUser } from '../access/accounts.ts';
import type { AccountRow, Schema, UserRow } from '../store/schema.ts';

/** Allowed characters of names, and their description in messages. Names of roles are sent in headers, which carry only ASCII safely. */
const nameForms = {
  roles: { form: /^[\x20-\x7e]+$/u, words: 'ASCII characters' },
  policies: { form: /^\P{Cc}+$/u, words: 'characters' },
} as const;

/**
 * The trimmed name of a role or policy. Commas and slashes are forbidden because roles are named in lists and resources in paths.
 * @throws {ApiError} 409 `InvalidArgument`
 */
export function readName(name: string, table: keyof typeof nameForms): string {
  const { form, words } = nameForms[table];
  const trimmed = name.trim();
  if (/^[^/,]{1,128}$/u.test(trimmed) && form.test(trimmed) && trimmed !== '*') return trimmed;
  throw new ApiError(409, 'InvalidArgument', `name must have 1 to 128 printable ${words} without / or comma, and must not be *`);
}

/** Kinds of objects whose names are unique in an account, and the fields of their names. */
const uniqueNames = { roles: ['role', 'name'], policies: ['policy', 'name'], users: ['user', 'login'] } as const;

/**
 * @throws {ApiError} 409 `InvalidArgument` if another role, policy or user of the account has this name. @param id id of the object that
 * gets the name
 */
export async function checkFree(
  db: Kysely<Schema>,
  table: keyof typeof uniqueNames,
  account: AccountRow,
  { id, name }: { id: string; name: string },
): Promise<void> {
  const others = db.selectFrom(table).select('id').where('account', '=', account.id).where('id', '!=', id);
  const column = sql.ref(table === 'users' ? 'login_key' : 'name');
  const same = others.where(column, '=', table === 'users' ? name.toLowerCase() : name);
  if ((await same.executeTakeFirst()) === undefined) return;
  const [kind, field] = uniqueNames[table];
  throw new ApiError(409, 'InvalidArgument', `${field}: the account already has a ${kind} "${name}"`);
}

/** The one of these roles or policies with an id, in any case, or else with a name, which may be a UUID too. */
export function pickByIdOrName<T extends { readonly id: string; readonly name: string }>(rows: readonly T[], word: string): T | undefined {
  return rows.find(({ id }) => id === word.toLowerCase()) ?? rows.find(({ name }) => name === word);
}

/** Id and name of the role or policy of an account with an id, in any case, or else with a name. */
export async function findOwn(
  db: Kysely<Schema>,
  table: 'roles' | 'policies',
  account: AccountRow,
  word: string,
): Promise<{ readonly id: string; readonly name: string } | undefined> {
  const rows = await db
    .selectFrom(table)
    .select(['id', 'name'])
    .where('account', '=', account.id)
    .where((where) => where.or([where('id', '=', word.toLowerCase()), where('name', '=', word)]))
    .execute();
  return pickByIdOrName(rows, word);
}

/** The error for an invalid value of a field. @param whole the message, if it is not the field name followed by `message` */
export function createFieldError(field: string, message: string, whole = `${field} ${message}`): ApiError {
  return new ApiError(409, 'InvalidArgument', whole, { errors: [{ field, code: 'InvalidArgument', message }] });
}

/** The error for a resource in a path that does not exist. */
export function createUnknownError(kind: string, name: string): ApiError {
  return new ApiError(404, 'ResourceNotFound', `${kind} ${name} does not exist`);
}

/** The sub-user in the request path, in its current state. @throws {ApiError} 404 `ResourceNotFound` */
export async function requireUser(db: Kysely<Schema>, account: AccountRow, name: string): Promise<UserRow> {
  const user = await findUser(db, account, name);
  if (user === undefined) throw createUnknownError('user', name);
  return user;
}
