import type { Kysely } from 'kysely';
import { ApiError } from '../../base/errors.ts';
import type { AccountRow, Schema } from '../store/schema.ts';

/** What a name may consist of, and how messages call it. Roles are named in headers, which carry no more than ASCII safely. */
const nameForms = {
  roles: { form: /^[\x20-\x7e]+$/u, words: 'ASCII characters' },
  policies: { form: /^\P{Cc}+$/u, words: 'characters' },
} as const;

/**
 * The name of a role or policy, trimmed. Commas and slashes are left out because roles are named in lists and resources in paths.
 * @throws {ApiError} 409 `InvalidArgument`.
 */
export function readName(name: string, table: keyof typeof nameForms): string {
  const { form, words } = nameForms[table];
  const trimmed = name.trim();
  if (/^[^/,]{1,128}$/u.test(trimmed) && form.test(trimmed) && trimmed !== '*') return trimmed;
  throw new ApiError(409, 'InvalidArgument', `name must have 1 to 128 printable ${words}, none of them / or a comma, and not be *`);
}

/** @throws {ApiError} 409 `InvalidArgument` when another role, or policy, of the account has the name. @param id of the one that is to have it */
export async function checkFree(
  db: Kysely<Schema>,
  table: 'roles' | 'policies',
  account: AccountRow,
  { id, name }: { id: string; name: string },
): Promise<void> {
  const named = db.selectFrom(table).select('id').where('account', '=', account.id).where('name', '=', name);
  if ((await named.where('id', '!=', id).executeTakeFirst()) === undefined) return;
  const kind = table === 'roles' ? 'role' : 'policy';
  throw new ApiError(409, 'InvalidArgument', `name: the account has a ${kind} "${name}" already`);
}

/** The error for a field whose value cannot be. @param whole the message, where it is not that of the field with its name */
export function refuseField(field: string, message: string, whole = `${field} ${message}`): ApiError {
  return new ApiError(409, 'InvalidArgument', whole, { errors: [{ field, code: 'InvalidArgument', message }] });
}

/** The error for something that a path names and that is not there. */
export function refuseUnknown(kind: string, name: string): ApiError {
  return new ApiError(404, 'ResourceNotFound', `${kind} ${name} does not exist`);
}
