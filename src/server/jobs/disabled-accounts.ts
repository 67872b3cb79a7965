import type { Kysely, Transaction } from 'kysely';
import { repeatRegularly } from '../repeat-regularly.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { JobEngine } from './engine.ts';

/**
 * Jobs end with the account that they belong to, or that created them. The operator disables an account in a process of its own: the
 * database alone tells the engines.
 */

/** Milliseconds between two looks. */
const pause = 1000;

/** Marks the jobs of accounts that are not enabled as cancelled. @returns how many were not before */
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

/** Jobs that run and are to end: those that are cancelled, and those whose account, or whose creator's, is not enabled. */
async function listUnwanted(db: Kysely<Schema>): Promise<{ id: string; cancelled: number }[]> {
  const disabled = db.selectFrom('accounts').select('id').where('status', '<>', 'enabled');
  return db
    .selectFrom('jobs')
    .select(['id', 'cancelled'])
    .where('state', '=', 'running')
    .where((where) => where.or([where('cancelled', '=', 1), where('account', 'in', disabled), where('creator', 'in', disabled)]))
    .execute();
}

/** Tells an engine of jobs that others cancelled, until the function that is returned is called. */
export function followCancelled(store: Store, wake: JobEngine['wake'], log: (line: string) => void): () => Promise<void> {
  let isFailing = false;
  const look = async (): Promise<void> => {
    try {
      const unwanted = await listUnwanted(store.db);
      // One that was created while its account was disabled.
      if (unwanted.some(({ cancelled }) => cancelled === 0)) await store.write(cancelOfDisabled);
      for (const { id } of unwanted) wake(id);
      isFailing = false;
    } catch (error) {
      if (!isFailing) log(`jobs: which of them were cancelled cannot be read: ${String(error)}`);
      isFailing = true;
    }
  };
  return repeatRegularly(look, () => pause);
}
