import { isDeepStrictEqual } from 'node:util';
import type { Kysely, Transaction } from 'kysely';
import { compute } from '../../api/compute.ts';
import type { Headers } from '../../api/message.ts';
import type { Operation } from '../../api/operation.ts';
import { storage } from '../../api/storage.ts';
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

/** A change of the role tags of an entry, for the decision whether it is allowed: policies name it like SetRoleTags. */
const tagging: Operation = { ...storage.putObject, segments: storage.putObject.segments, action: compute.setRoleTags.action };

/** The role tags that a request names. */
export interface NamedTags {
  /** Role names, separated by commas; undefined if the request names no tags, so that an entry keeps or inherits its own. */
  readonly names: string | undefined;
  /** The error if the caller may not change the tags of an existing entry. */
  readonly refusal?: ApiError | undefined;
}

/**
 * Decides, before the transaction that writes an entry, whether the caller may also change the tags of an existing one. That requires
 * `setroletags`, as in the compute service: with the permission to write alone, members of one role could give an entry to their others.
 */
export async function readNamedTags(call: Pick<Call, 'requireAccess'>, place: Place, names: string | undefined): Promise<NamedTags> {
  if (names === undefined) return { names };
  try {
    await call.requireAccess(tagging, { account: place.login, path: place.parts.join('/') });
    return { names };
  } catch (error) {
    if (error instanceof ApiError) return { names, refusal: error };
    throw error;
  }
}

/**
 * The role tags of an entry to be written, as a JSON array of role ids: those that the request names, otherwise the existing ones,
 * otherwise those of its parent.
 * @throws 409 `InvalidRoleTag` for a role that the account does not have; the refusal if the tags of an existing entry would change.
 */
export async function chooseRoleTags(
  db: Kysely<Schema>,
  { account }: Pick<Call, 'account'>,
  { names, refusal }: NamedTags,
  existing: Tagged | undefined,
  parent: Tagged,
): Promise<string> {
  if (names === undefined) return existing?.role_tags ?? parent.role_tags;
  const { ids, unknown } = await findRoleIds(db, account, splitList(names));
  if (unknown !== undefined) throw new ApiError(409, 'InvalidRoleTag', `the account has no role "${unknown}": create it first`);
  if (refusal !== undefined && existing !== undefined) {
    const present = await findRoleNames(db, account, JSON.parse(existing.role_tags) as string[]);
    if (!isDeepStrictEqual(new Set(present), new Set(await findRoleNames(db, account, ids)))) throw refusal;
  }
  return JSON.stringify(ids);
}

/** Records in the audit log that a request names role tags; tags that are kept or inherited do not change access, and are not recorded. */
export async function noteRoleTags(transaction: Transaction<Schema>, call: Call, place: Place, named: string | undefined): Promise<void> {
  if (named !== undefined) await noteAudit(transaction, call, place.parts.join('/'), { 'role-tag': splitList(named) });
}

/** The response header with the role tags of an entry; none if it has no tags, or if anyone reads it without a signature. */
export async function showRoleTags({ store, account, caller }: Call, { role_tags: tags }: Tagged): Promise<Headers> {
  if (caller.kind === 'anonymous') return {};
  const names = await findRoleNames(store.db, account, JSON.parse(tags) as string[]);
  return names.length === 0 ? {} : { 'role-tag': names.join(',') };
}
