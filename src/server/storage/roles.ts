import type { Kysely, Transaction } from 'kysely';
import type { Headers } from '../../api/message.ts';
import { ApiError } from '../../base/errors.ts';
import { splitList } from '../../base/split-list.ts';
import { noteAudit } from '../access/audit.ts';
import { findRoleIds, findRoleNames } from '../access/caller-roles.ts';
import type { Call } from '../http/handler.ts';
import type { Schema } from '../store/schema.ts';
import type { Place } from './paths.ts';

interface Tagged {
  /** JSON array of role ids. */
  role_tags: string;
}

/**
 * The role tags of an entry to be written, as a JSON array of role ids: those that the request names, otherwise the existing ones,
 * otherwise those of its parent.
 * @throws 409 `InvalidRoleTag` for a role that the account does not have.
 */
export async function chooseRoleTags(
  db: Kysely<Schema>,
  { account }: Pick<Call, 'account'>,
  named: string | undefined,
  existing: Tagged | undefined,
  parent: Tagged,
): Promise<string> {
  if (named === undefined) return existing?.role_tags ?? parent.role_tags;
  const { ids, unknown } = await findRoleIds(db, account, splitList(named));
  if (unknown !== undefined) throw new ApiError(409, 'InvalidRoleTag', `the account has no role "${unknown}": create it first`);
  return JSON.stringify(ids);
}

/** Records in the audit log that a request names role tags; tags that are kept or inherited do not change access, and are not recorded. */
export async function noteRoleTags(transaction: Transaction<Schema>, call: Call, place: Place, named: string | undefined): Promise<void> {
  if (named !== undefined) await noteAudit(transaction, call, place.parts.join('/'), { 'role-tag': splitList(named) });
}

/** The response header with the role tags of an entry; none if it has no tags. */
export async function showRoleTags({ store, account }: Call, { role_tags: tags }: Tagged): Promise<Headers> {
  const names = await findRoleNames(store.db, account, JSON.parse(tags) as string[]);
  return names.length === 0 ? {} : { 'role-tag': names.join(',') };
}
