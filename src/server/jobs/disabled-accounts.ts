import type { Kysely, Transaction } from 'kysely';
import { repeatRegularly } from '../repeat-regularly.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { JobEngine } from './engine.ts';

/**
 * Jobs end when the account that they belong to, or that created them, is disabled. The operator disables an account from another process,
 * so the engines learn of it from the database alone.
 */

/** Milliseconds between two polls of the database. */
const pause = 1000;

/** Marks the running jobs of accounts that are not enabled as cancelled. @returns how many jobs were newly marked */
export async function cancelOfDisabled(transaction: Transaction<Schema>): Promise<number> {
  const disabled = transaction.selectFrom('accounts').select('id').where('status', '<>', 'enabled');
  const { numUpdatedRows } = await transaction
    .updateTable('jobs')
    .set({ cancelled: 1 })
    .where('state', '=', 'running')
    .where('cancelled', '=', 0)
    .where((where) => where.or([where('account', 'in', disabled), where('creator', 'in', disabled)]))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Running jobs that must end: cancelled ones, and those whose account or creator is not enabled. */
async function listUnwanted(db: Kysely<Schema>): Promise<{ id: string; cancelled: number }[]> {
  const disabled = db.selectFrom('accounts').select('id').where('status', '<>', 'enabled');
  return db
    .selectFrom('jobs')
    .select(['id', 'cancelled'])
    .where('state', '=', 'running')
    .where((where) => where.or([where('cancelled', '=', 1), where('account', 'in', disabled), where('creator', 'in', disabled)]))
    .execute();
}

/** Calls `wake` for each running job that must end, until the returned function is called. */
export function followCancelled(store: Store, wake: JobEngine['wake'], log: (line: string) => void): () => Promise<void> {
  let isFailing = false;
  const look = async (): Promise<void> => {
    try {
      const unwanted = await listUnwanted(store.db);
      // Some jobs were created while their account was disabled.
      if (unwanted.some(({ cancelled }) => cancelled === 0)) await store.write(cancelOfDisabled);
      for (const { id } of unwanted) wake(id);
      isFailing = false;
    } catch (error) {
      if (!isFailing) log(`jobs: the list of cancelled jobs cannot be read: ${String(error)}`);
      isFailing = true;
    }
  };
  return repeatRegularly(look, () => pause);
}
