import type { Kysely, Transaction } from 'kysely';
import type { Headers } from '../../api/message.ts';
import { ApiError } from '../../base/errors.ts';
import { noteAudit } from '../access/audit.ts';
import { findRoleIds, findRoleNames, splitNames } from '../access/caller-roles.ts';
import type { Call } from '../http/handler.ts';
import type { Schema } from '../store/schema.ts';
import type { Place } from './paths.ts';

interface Tagged {
  /** JSON array of role ids. */
  role_tags: string;
}

/**
 * The role tags of an entry that is written, JSON array of role ids: those the request names, else those it has, else its
 * parent's. @throws 409 `InvalidRoleTag` for a role that the account does not have.
 */
export async function chooseRoleTags(
  db: Kysely<Schema>,
  { account }: Pick<Call, 'account'>,
  named: string | undefined,
  existing: Tagged | undefined,
  parent: Tagged,
): Promise<string> {
  if (named === undefined) return existing?.role_tags ?? parent.role_tags;
  const { ids, unknown } = await findRoleIds(db, account, splitNames(named));
  if (unknown !== undefined) throw new ApiError(409, 'InvalidRoleTag', `the account has no role "${unknown}": create it first`);
  return JSON.stringify(ids);
}

/** Notes in the audit log that a request names the role tags of what it writes; those that are kept or inherited are no change of access. */
export async function noteRoleTags(transaction: Transaction<Schema>, call: Call, place: Place, named: string | undefined): Promise<void> {
  if (named !== undefined) await noteAudit(transaction, call, place.parts.join('/'), { 'role-tag': splitNames(named) });
}

/** The header by which a reply shows the role tags of an entry; none for an entry without. */
export async function showRoleTags({ store, account }: Call, { role_tags: tags }: Tagged): Promise<Headers> {
  const names = await findRoleNames(store.db, account, JSON.parse(tags) as string[]);
  return names.length === 0 ? {} : { 'role-tag': names.join(',') };
}
