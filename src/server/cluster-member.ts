import { hostname } from 'node:os';
import { build } from '../base/build.ts';
import { makeJobDirectory } from './job-directory.ts';
import { removeTree } from './jobs/remove-tree.ts';
import type { LocalStore } from './store/open.ts';
import { keepLease, takeLease, type Keeping, type Lease } from './store/postgres/lease.ts';
import { openClusterStore, openPostgres, type ClusterStoreOptions } from './store/postgres/open.ts';
import type { Admission } from './store/postgres/write.ts';
import { openWorkDir, type WorkDir } from './work-dir.ts';

/** What gateways and workers have in common: database, contents, a lease by which others know that they are alive, and a directory for tasks. */

/** What is opened under a lease. */
export interface LeasedOptions extends Pick<ClusterStoreOptions, 'database' | 'bytes' | 'connections'> {
  /** Of this process, by which others are told of it. */
  readonly pid: number;
  /** Tasks that it does at once; 0 when it does none. */
  readonly slots?: number | undefined;
  readonly log?: (line: string) => void;
}

/** Where a member of a cluster keeps what it serves. */
export interface MemberOptions extends Omit<LeasedOptions, 'connections'> {
  /** Directory in which tasks of jobs run: that of the contents when absent, or a temporary one where they are in a bucket. */
  readonly workDir?: string | undefined;
}

/** Database and contents, and the lease under which they are read and written. */
interface Leased {
  readonly store: LocalStore;
  readonly lease: Lease;
  readonly keeping: Keeping;
  /** Closes the store and gives the lease back. */
  close(): Promise<void>;
}

export interface Member extends Leased {
  /** Directory of the tasks of this process alone. */
  readonly dataDir: string;
}

/** Connections that renew the lease, so that requests which hold all others never let it end. */
const leaseConnections = 1;

/**
 * Opens a PostgreSQL database that was migrated, and the contents, under a lease that is kept.
 * @param role what others are told that this process is
 * @throws {LocalError} when the database or a directory cannot be used.
 */
export async function openUnderLease(
  role: 'process' | 'worker' | 'apply' | 'import',
  { database, bytes, connections, pid, slots, log = () => undefined }: LeasedOptions,
): Promise<Leased> {
  const own = await openPostgres(database, leaseConnections);
  let lease: Lease | undefined;
  let keeping: Keeping | undefined;
  let store: LocalStore | undefined;
  const close = async (): Promise<void> => {
    await store?.close();
    await keeping?.stop();
    // Where the database is away the lease ends by itself.
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
  try {
    // First, as it looks whether the tables are those of this release.
    store = await openClusterStore({ database, bytes, connections, log, admission, beginReading: () => requireLease().begin().end });
    lease = await takeLease(own, { address: `${role} ${pid} of ${hostname()}`, version: build.version, slots });
    keeping = keepLease(lease, log);
    return { store, lease, keeping, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What ends by itself, in up to `patience` milliseconds. */
interface Closable {
  close(patience?: number): Promise<void>;
}

/** Runs a gateway or worker; what watches it is there until it has given its lease back. */
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
  try {
    member = await open;
    const running = await start(member);
    return {
      ...running,
      close: async (patience) => {
        await running.close(patience);
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Opens what a gateway or worker works with. @throws {LocalError} when the database or a directory cannot be used. */
export async function openMember(role: 'process' | 'worker', { workDir, ...options }: MemberOptions): Promise<Member> {
  const leased = await openUnderLease(role, options);
  let work: WorkDir | undefined;
  let dataDir: string | undefined;
  const close = async (): Promise<void> => {
    if (dataDir !== undefined) await removeTree(dataDir);
    await work?.remove();
    await leased.close();
  };
  try {
    const { bytes, pid } = options;
    // Beside contents that are files of this machine, which tasks then share without a copy.
    work = await openWorkDir(workDir ?? (typeof bytes === 'string' ? bytes : undefined));
    dataDir = await makeJobDirectory(work.dir, pid);
    return { ...leased, dataDir, close };
  } catch (error) {
    await close();
    throw error;
  }
}
