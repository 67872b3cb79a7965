import type { Transaction } from 'kysely';
import { findRoleIds } from '../access/caller-roles.ts';
import type { Call } from '../http/handler.ts';
import { describeDirectory, ensureDirectory, putEntry } from '../storage/entries.ts';
import { childOf, parentOf, type Place } from '../storage/paths.ts';
import type { Schema } from '../store/schema.ts';
import type { Access } from './party.ts';

/** Ids of the roles that were active for the request that creates a job; empty if the account itself sent it. */
export async function listCreatorRoles({ store, account }: Call, access: string): Promise<string[]> {
  const { roles = [] } = JSON.parse(access) as Access;
  return (await findRoleIds(store.db, account, roles)).ids;
}

/**
 * Creates the directory of a new job. Its role tags are those of its parent plus the roles that the creator acted under. All objects of the
 * job inherit them: whoever may create a job can read its results, where a policy permits reading.
 */
export async function createDirectory(
  transaction: Transaction<Schema>,
  directory: Place,
  roles: readonly string[],
  now: number,
): Promise<void> {
  const above = parentOf(directory);
  const inherited = above ? (JSON.parse(await ensureDirectory(transaction, above, now)) as string[]) : [];
  const roleTags = JSON.stringify([...new Set([...inherited, ...roles])]);
  await putEntry(transaction, directory, undefined, describeDirectory(now, { roleTags }));
  await ensureDirectory(transaction, childOf(directory, 'stor'), now);
}
