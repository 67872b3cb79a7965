import type { Transaction } from 'kysely';
import { findRoleIds } from '../access/caller-roles.ts';
import type { Call } from '../http/handler.ts';
import { describeDirectory, ensureDirectory, putEntry } from '../storage/entries.ts';
import { childOf, parentOf, type Place } from '../storage/paths.ts';
import type { Schema } from '../store/schema.ts';
import type { Access } from './party.ts';

/** Ids of the roles that were active for the request that creates a job; none when the account itself does. */
export async function listCreatorRoles({ store, account }: Call, access: string): Promise<string[]> {
  const { roles = [] } = JSON.parse(access) as Access;
  return (await findRoleIds(store.db, account, roles)).ids;
}

/**
 * Makes the directory of a new job. Beside the tags of its parent it has the roles that its creator acted under, and all that the
 * job leaves in it inherits them: who may create a job can read what comes out, where a policy permits reading.
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
