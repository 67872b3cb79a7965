import { openUnderLease, type LeasedOptions } from '../cluster-member.ts';
import type { LocalStore } from '../store/open.ts';

/** Where a command of operators stores contents. */
export type StoringOptions = Omit<LeasedOptions, 'log' | 'slots'>;

/**
 * Does work that stores contents beside gateways, under a lease of its own as they have: it keeps collectors from what no row names yet,
 * however long the work takes, and where it was lost nothing more is written.
 * @param role what others are told that this process is
 */
export async function workUnderLease<T>(
  role: 'apply' | 'import',
  options: StoringOptions,
  work: (store: LocalStore) => Promise<T>,
): Promise<T> {
  const { store, lease, close } = await openUnderLease(role, options);
  const running = lease.begin();
  try {
    return await lease.within(running, () => work(store));
  } finally {
    running.end();
    await close();
  }
}
