import { openUnderLease, type LeasedOptions } from '../cluster-member.ts';
import type { Store } from '../store/store.ts';

/** Where a command of an operator stores contents. */
export type StoringOptions = Omit<LeasedOptions, 'log' | 'slots'>;

/**
 * Runs work that stores contents alongside gateways, under a lease of its own, as gateways have. The lease keeps collectors from removing
 * contents that no row names yet, however long the work takes; if the lease is lost, nothing more is written.
 * @param role how this process is shown to others
 */
export async function workUnderLease<T>(role: 'apply' | 'import', options: StoringOptions, work: (store: Store) => Promise<T>): Promise<T> {
  const { store, lease, close } = await openUnderLease(role, options);
  const running = lease.begin();
  try {
    return await lease.within(running, () => work(store));
  } finally {
    running.end();
    await close();
  }
}
