import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { sql, type Kysely, type Transaction } from 'kysely';
import { repeatRegularly } from '../../repeat-regularly.ts';
import type { Schema } from '../schema.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { describeSkew, measureSkew, mostSkew } from './clock-skew.ts';
import { createEpochs, type Reading, type Running, type Term } from './epochs.ts';
import type { Admission } from './write.ts';

/** Seconds for which a gateway is considered alive after it has renewed its lease. */
export const usualLifetime = 15;

/** What others see of a gateway. */
export interface LeaseOptions {
  /** Role, process and host. */
  readonly address: string;
  /** Version of the program. */
  readonly version?: string | undefined;
  /** Number of tasks that it runs concurrently. */
  readonly slots?: number | undefined;
  /** Milliseconds for which it keeps unreferenced contents; absent for a process that collects none and serves no requests. */
  readonly keep?: number | undefined;
  /** In seconds. */
  readonly lifetime?: number | undefined;
  /** Milliseconds of a monotonic clock. */
  readonly clock?: (() => number) | undefined;
  /** The time of the services, milliseconds since the epoch. */
  readonly now?: (() => number) | undefined;
}

/**
 * Permits one gateway to write, and keeps others from removing contents that it reads. Any number of gateways have one lease each.
 *
 * A lease that has ended is taken again under a new id. Activities that began under the old id cannot write any more. The contents that
 * they read were protected only as long as the old row existed: the process that removes contents first removes the rows of expired leases.
 */
export interface Lease extends Admission {
  /** Id of its current row. */
  readonly id: string;
  /** Milliseconds since the last renewal. */
  age(): number;
  /** True from when the database reports the lease as ended until it is taken again. An unreachable database does not count. */
  isLost(): boolean;
  /** Milliseconds by which the clock of this process was ahead of the database's at the last renewal. */
  skew(): number;
  /** True if the clock of this process is wrong and those of most members are right: then the database's is right too. */
  isAstray(): boolean;
  /** Keeps the lease from being removed before the transaction ends. @throws {StoreUnavailable} when it is lost */
  admit(transaction: Transaction<Schema>): Promise<void>;
  /** Begins an activity that reads or writes contents. */
  begin(): Running;
  /** Runs work under the term of the lease under which an activity began: its writes fail once that term has ended. */
  within<T>(running: Running, work: () => T): T;
  /** Renews the lease, or takes it again. @returns true if it was kept without a gap */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

/** The time of the database as milliseconds since 1970. */
export const databaseNow = sql<number>`extract(epoch from clock_timestamp()) * 1000`;

function at(milliseconds: number): ReturnType<typeof sql> {
  return sql`to_timestamp(cast(${milliseconds} as double precision) / 1000)`;
}

/** Adds the row of a lease. @returns the time of the database */
async function insertRow(
  db: Kysely<Schema>,
  row: { id: string; oldest: ReturnType<typeof sql>; until: ReturnType<typeof sql>; owner: string; options: LeaseOptions },
): Promise<number | undefined> {
  const { id, oldest, until, owner, options } = row;
  const { address, version = null, slots = null, keep = null } = options;
  const { rows } = await sql<{ now: number }>`
    insert into gateways (id, address, version, slots, keep, owner, started, until, oldest)
    values (${id}, ${address}, ${version}, ${slots}, ${keep}, ${owner}, clock_timestamp(), ${until}, ${oldest}) returning ${databaseNow} as now`.execute(
    db,
  );
  return rows[0]?.now;
}

/**
 * Renews the row of a lease, unless it has ended.
 * @returns the time of the database, and whether the clocks of most processes agree with it
 */
async function renewRow(
  db: Kysely<Schema>,
  { id, until, skew, oldest }: { id: string; until: ReturnType<typeof sql>; skew: number; oldest: ReturnType<typeof sql> },
): Promise<{ readonly now: number; readonly others: boolean } | undefined> {
  const { rows } = await sql<{ now: number; others: boolean }>`
    update gateways set until = ${until}, skew = ${skew}, oldest = ${oldest}
    where id = ${id} and until > clock_timestamp() returning ${databaseNow} as now, (
      select count(*) filter (where abs(other.skew) <= ${mostSkew}) * 2 > count(other.skew)
      from gateways as other
      where other.until > clock_timestamp() and split_part(other.address, ' ', 1) in ('process', 'worker')
    ) as others`.execute(db);
  return rows[0];
}

/** Takes a lease on a database. The caller has to renew the lease at least three times in its lifetime. */
export async function takeLease(db: Kysely<Schema>, options: LeaseOptions): Promise<Lease> {
  const { lifetime = usualLifetime, clock = () => performance.now(), now = Date.now } = options;
  const until = sql`clock_timestamp() + ${lifetime} * interval '1 second'`;
  /** The term of the lease under which the current work runs. */
  const bound = new AsyncLocalStorage<Term>();
  const terms = new Set<Term>();

  async function read(work: () => Promise<number | undefined>): Promise<Reading | undefined> {
    const begun = now();
    const database = await work();
    if (database === undefined) return undefined;
    skew = measureSkew(database, begun, now());
    return { database, received: clock() };
  }

  const insert = (target: Kysely<Schema>, id: string, oldest: ReturnType<typeof sql>): Promise<number | undefined> =>
    insertRow(target, { id, oldest, until, owner, options });

  let skew = 0;
  let areOthersRight = false;
  const owner = randomUUID();
  const leaseOf = (): string => (bound.getStore() ?? term).id;
  let term: Term = { id: owner, isLost: false };
  terms.add(term);
  const first = await read(() => insert(db, term.id, sql`clock_timestamp()`));
  if (first === undefined) throw new Error('the database returns no row');
  const epochs = createEpochs(first, clock);
  let renewed = first.received;
  let isLost = false;

  async function keep(): Promise<number | undefined> {
    const kept = await renewRow(db, { id: term.id, until, skew, oldest: at(epochs.findOldest()) });
    areOthersRight = kept?.others === true;
    return kept?.now;
  }

  /** Waits for the writes in progress under the old lease: none can be committed later. */
  async function takeAgain(): Promise<number | undefined> {
    const next: Term = { id: randomUUID(), isLost: false };
    let wasThere = false;
    const told = await db.transaction().execute(async (transaction) => {
      const { rows } = await sql`delete from gateways where id = ${term.id} returning id`.execute(transaction);
      wasThere = rows.length > 0;
      return insert(transaction, next.id, wasThere ? at(epochs.findOldest()) : sql`clock_timestamp()`);
    });
    if (!wasThere) {
      for (const each of terms) each.isLost = true;
      terms.clear();
      epochs.forget();
    }
    term = next;
    terms.add(term);
    return told;
  }

  return {
    get id() {
      return term.id;
    },
    age: () => clock() - renewed,
    isLost: () => isLost,
    skew: () => skew,
    isAstray: () => areOthersRight && describeSkew(skew) !== undefined,
    leaseOf,
    async admit(transaction) {
      const id = leaseOf();
      const { rows } = await sql`
        select id from gateways where id = ${id} and until > clock_timestamp() for key share`.execute(transaction);
      if (rows.length === 0) throw new StoreUnavailable('this process has lost its lease');
    },
    begin: () => epochs.begin(term),
    within: (running, work) => bound.run(running.term, work),
    async renew() {
      const begun = clock();
      const kept = await read(keep);
      isLost = kept === undefined;
      const reading = kept ?? (await read(takeAgain));
      isLost = false;
      renewed = begun;
      if (reading !== undefined) epochs.compare(reading);
      return kept !== undefined;
    },
    async release() {
      await sql`delete from gateways where id = ${term.id}`.execute(db);
    },
  };
}

/** Renews a lease in the background. */
export interface Keeping {
  /** True if the database has responded to each renewal for this many milliseconds. */
  isSteady(time: number): boolean;
  stop(): Promise<void>;
}

/**
 * Renews a lease until it is stopped.
 * @param renewal milliseconds between renewals, and `retry` after one that failed
 */
export function keepLease(
  lease: Pick<Lease, 'id' | 'renew' | 'skew'>,
  log: (line: string) => void,
  { renewal = 5000, retry = 1000 }: { renewal?: number | undefined; retry?: number | undefined } = {},
): Keeping {
  let troubled = performance.now();
  let hasFailed = false;
  let isWrong = false;
  const checkClock = (): void => {
    const problem = describeSkew(lease.skew());
    if (problem !== undefined && !isWrong) log(`${problem}: signed requests fail once the difference is minutes`);
    if (problem === undefined && isWrong) log('the clock of this machine is right again');
    isWrong = problem !== undefined;
  };
  checkClock();
  const renew = async (): Promise<void> => {
    hasFailed = false;
    try {
      if (!(await lease.renew())) {
        troubled = performance.now();
        log(`the lease was lost, and taken again as ${lease.id}`);
      }
      checkClock();
    } catch (error) {
      hasFailed = true;
      troubled = performance.now();
      log(`the lease cannot be renewed: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return {
    isSteady: (time) => performance.now() - troubled >= time,
    stop: repeatRegularly(renew, () => (hasFailed ? retry : renewal)),
  };
}
