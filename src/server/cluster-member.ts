import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from '../base/build.ts';
import { undoOnFailure } from '../base/undo-on-failure.ts';
import { makeJobDirectory } from './job-directory.ts';
import { removeTree } from './jobs/remove-tree.ts';
import type { Store } from './store/store.ts';
import { keepLease, takeLease, type Keeping, type Lease } from './store/postgres/lease.ts';
import { openClusterStore, openPostgres, type ClusterStoreOptions } from './store/postgres/open.ts';
import type { Admission } from './store/postgres/write.ts';

/**
 * Common parts of gateways and workers: database, contents, a lease by which others know that they are alive, and a directory for tasks.
 */

/** Options of what is opened under a lease. */
export interface LeasedOptions extends Pick<ClusterStoreOptions, 'database' | 'bytes' | 'connections'> {
  /** Process id, by which others identify this process. */
  readonly pid: number;
  /** Number of concurrent tasks; 0 if it runs none. */
  readonly slots?: number | undefined;
  /** Milliseconds for which a gateway keeps unreferenced contents. */
  readonly keepGarbage?: number | undefined;
  readonly log?: (line: string) => void;
  /** The time of the services, milliseconds since the epoch. */
  readonly time?: (() => number) | undefined;
}

/** Options of a member of a cluster. */
export interface MemberOptions extends Omit<LeasedOptions, 'connections'> {
  /**
   * Directory in which tasks of jobs run; when absent, the directory of the contents, or a temporary one if the contents are in a bucket.
   */
  readonly workDir?: string | undefined;
}

/** Database and contents, and the lease under which they are read and written. */
interface Leased {
  readonly store: Store;
  readonly lease: Lease;
  readonly keeping: Keeping;
  /** Closes the store and releases the lease. */
  close(): Promise<void>;
}

export interface Member extends Leased {
  /** Directory for the tasks of this process alone. */
  readonly dataDir: string;
}

/** Connections reserved for renewing the lease, so that it never expires while requests hold all other connections. */
const leaseConnections = 1;

/**
 * Opens a migrated PostgreSQL database and the contents, under a lease that is renewed until `close`.
 * @param role the role of this process, as others see it
 * @throws {LocalError} if the database or a directory cannot be used
 */
export async function openUnderLease(
  role: 'process' | 'worker' | 'apply' | 'import',
  { database, bytes, connections, pid, slots, keepGarbage: keep, time: now, log = () => undefined }: LeasedOptions,
): Promise<Leased> {
  const own = await openPostgres(database, leaseConnections);
  let lease: Lease | undefined;
  let keeping: Keeping | undefined;
  let store: Store | undefined;
  const close = async (): Promise<void> => {
    await store?.close();
    await keeping?.stop();
    // If the database is unavailable, the lease expires instead.
    await lease?.release().catch((error: unknown) => log(`the lease cannot be given back: ${String(error)}`));
    await own.destroy();
  };
  const requireLease = (): Lease => {
    if (lease === undefined) throw new Error('nothing is read or written before the lease is taken');
    return lease;
  };
  const admission: Admission = {
    admit: (transaction) => requireLease().admit(transaction),
    leaseOf: () => requireLease().leaseOf(),
  };
  return undoOnFailure(close, async () => {
    // Before the lease, because it checks that the tables are those of this release.
    store = await openClusterStore({ database, bytes, connections, log, admission, beginReading: () => requireLease().begin().end });
    lease = await takeLease(own, { address: `${role} ${pid} of ${hostname()}`, version: build.version, slots, keep, now });
    keeping = keepLease(lease, log);
    return { store, lease, keeping, close };
  });
}

/** Closes after up to `timeoutMs`, in which running work may finish. */
interface Closable {
  close(timeoutMs?: number): Promise<void>;
}

/** Runs a gateway or worker. Its `watch` is closed last, after the lease is released. */
export async function runMember<T extends Closable>(
  watch: Closable,
  open: Promise<Member>,
  start: (member: Member) => Promise<T>,
): Promise<T> {
  let member: Member | undefined;
  const end = async (): Promise<void> => {
    await member?.close();
    await watch.close();
  };
  return undoOnFailure(end, async () => {
    member = await open;
    const running = await start(member);
    return {
      ...running,
      close: async (timeoutMs) => {
        await running.close(timeoutMs);
        await end();
      },
    };
  });
}

/** Opens everything that a gateway or worker needs. @throws {LocalError} if the database or a directory cannot be used */
export async function openMember(role: 'process' | 'worker', { workDir, ...options }: MemberOptions): Promise<Member> {
  const leased = await openUnderLease(role, options);
  let [temporary, dataDir]: (string | undefined)[] = [];
  const close = async (): Promise<void> => {
    if (dataDir !== undefined) await removeTree(dataDir);
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
    await leased.close();
  };
  return undoOnFailure(close, async () => {
    const { bytes, pid } = options;
    // If the contents are files of this machine, tasks run in the same directory and share them without copying.
    const place = workDir ?? (typeof bytes === 'string' ? bytes : (temporary = await mkdtemp(join(tmpdir(), 'cloud-gateway-'))));
    dataDir = await makeJobDirectory(place, pid);
    return { ...leased, dataDir, close };
  });
}
