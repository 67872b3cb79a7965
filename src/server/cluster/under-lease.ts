import { hostname } from 'node:os';
import { build } from '../../base/build.ts';
import type { LocalStore } from '../store/open.ts';
import { keepLease, takeLease } from '../store/postgres/lease.ts';
import { openClusterStore, openPostgres, type ClusterStoreOptions } from '../store/postgres/open.ts';
import type { Admission } from '../store/postgres/write.ts';

/** Where a command of operators stores contents. */
export interface StoringOptions extends Pick<ClusterStoreOptions, 'database' | 'bytes' | 'connections'> {
  /** Of this process, by which others are told of it. */
  readonly pid: number;
}

/**
 * Does work that stores contents beside gateways, under a lease of its own as they have: it keeps collectors from what no row names yet,
 * however long the work takes, and where it was lost nothing more is written.
 * @param role what others are told that this process is
 */
export async function workUnderLease<T>(
  role: 'apply' | 'import',
  { pid, ...places }: StoringOptions,
  work: (store: LocalStore) => Promise<T>,
): Promise<T> {
  const own = await openPostgres(places.database, 1);
  const ends: (() => Promise<void>)[] = [() => own.destroy()];
  try {
    // First, as it looks whether the tables are those of this release.
    const admission: Admission = { admit: (transaction) => lease.admit(transaction), leaseOf: () => lease.leaseOf() };
    const store = await openClusterStore({ ...places, admission });
    ends.push(() => store.close());
    const lease = await takeLease(own, { address: `${role} ${pid} of ${hostname()}`, version: build.version });
    // Where the database is away it ends by itself.
    ends.push(() => lease.release().catch(() => undefined));
    const keeping = keepLease(lease, () => undefined);
    ends.push(() => keeping.stop());
    const running = lease.begin();
    ends.push(async () => running.end());
    return await lease.within(running, () => work(store));
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}
