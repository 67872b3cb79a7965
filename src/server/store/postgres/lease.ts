import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { sql, type Kysely, type Transaction } from 'kysely';
import { repeatRegularly } from '../../repeat-regularly.ts';
import type { Schema } from '../schema.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { createEpochs, type Reading, type Running, type Term } from './epochs.ts';
import type { Admission } from './write.ts';

/** Seconds for which a gateway is taken for alive after it said so. */
export const usualLifetime = 15;

/** What others are told of a gateway. */
export interface LeaseOptions {
  /** Where it runs. */
  readonly address: string;
  /** Version of the program. */
  readonly version?: string | undefined;
  /** Tasks that it does at once. */
  readonly slots?: number | undefined;
  /** Seconds. */
  readonly lifetime?: number | undefined;
  /** Milliseconds of a clock that never goes back. */
  readonly clock?: (() => number) | undefined;
}

/**
 * The leave of one gateway to write, and what keeps others from removing what it reads. Any number of gateways have one each.
 *
 * A lease that ended is taken again under a new id: what began under the old one cannot write any more. What it reads is safe for as long
 * as the row of the old one was there; whoever removes contents removes the rows of leases that ended first.
 */
export interface Lease extends Admission {
  /** Of its row now. */
  readonly id: string;
  /** Milliseconds since it was renewed last. */
  age(): number;
  /** True from when the database said that it has ended until it was taken again. Never because the database is away. */
  isLost(): boolean;
  /** The lease is not removed before the transaction ends. @throws {StoreUnavailable} when it is lost */
  admit(transaction: Transaction<Schema>): Promise<void>;
  /** Something begins that reads or writes contents. */
  begin(): Running;
  /** Does work under the life of the lease under which something began: what the work writes is refused when that has ended. */
  within<T>(running: Running, work: () => T): T;
  /** Says that this gateway is alive, or takes the lease again. @returns whether it was kept, without a gap */
  renew(): Promise<boolean>;
  /** Ends it. */
  release(): Promise<void>;
}

interface Told {
  readonly now: number;
}

/** A time of the database as milliseconds since 1970. */
const now = sql<number>`extract(epoch from clock_timestamp()) * 1000`;

function at(milliseconds: number): ReturnType<typeof sql> {
  return sql`to_timestamp(cast(${milliseconds} as double precision) / 1000)`;
}

/**
 * Takes a lease on a database, which is to be renewed at least three times in its lifetime.
 */
export async function takeLease(db: Kysely<Schema>, options: LeaseOptions): Promise<Lease> {
  const { address, version = null, slots = null, lifetime = usualLifetime, clock = () => performance.now() } = options;
  const until = sql`clock_timestamp() + ${lifetime} * interval '1 second'`;
  /** The life of the lease under which the work runs that is being done. */
  const bound = new AsyncLocalStorage<Term>();
  const terms = new Set<Term>();

  async function read(work: () => Promise<readonly Told[]>): Promise<Reading | undefined> {
    const [told] = await work();
    return told && { database: told.now, received: clock() };
  }

  async function insert(target: Kysely<Schema>, id: string, oldest: ReturnType<typeof sql>): Promise<readonly Told[]> {
    const { rows } = await sql<Told>`
      insert into gateways (id, address, version, slots, owner, started, until, oldest)
      values (${id}, ${address}, ${version}, ${slots}, ${owner}, clock_timestamp(), ${until}, ${oldest}) returning ${now} as now`.execute(
      target,
    );
    return rows;
  }

  const owner = randomUUID();
  const leaseOf = (): string => (bound.getStore() ?? term).id;
  let term: Term = { id: owner, isLost: false };
  terms.add(term);
  const first = await read(() => insert(db, term.id, sql`clock_timestamp()`));
  if (first === undefined) throw new Error('the database returns no row');
  const epochs = createEpochs(first, clock);
  let renewed = first.received;
  let isLost = false;

  async function keep(): Promise<readonly Told[]> {
    const { rows } = await sql<Told>`
      update gateways set until = ${until}, oldest = ${at(epochs.findOldest())}
      where id = ${term.id} and until > clock_timestamp() returning ${now} as now`.execute(db);
    return rows;
  }

  /** Waits for the writes under way of the old lease: none can be committed later. */
  async function takeAgain(): Promise<readonly Told[]> {
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
    leaseOf,
    async admit(transaction) {
      const id = leaseOf();
      const { rows } = await sql`
        select id from gateways where id = ${id} and until > clock_timestamp() for key share`.execute(transaction);
      if (rows.length === 0) throw new StoreUnavailable('this gateway has lost its lease');
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

/** What keeps a lease. */
export interface Keeping {
  /** Whether the database has answered each time for so long, milliseconds. */
  isSteady(time: number): boolean;
  stop(): Promise<void>;
}

/**
 * Renews a lease until it is stopped.
 * @param renewal milliseconds from one renewal to the next, and `retry` after one that failed
 */
export function keepLease(
  lease: Pick<Lease, 'renew'>,
  log: (line: string) => void,
  { renewal = 5000, retry = 1000 }: { renewal?: number | undefined; retry?: number | undefined } = {},
): Keeping {
  let troubled = performance.now();
  let hasFailed = false;
  const renew = async (): Promise<void> => {
    hasFailed = false;
    try {
      if (!(await lease.renew())) {
        troubled = performance.now();
        log('the lease was lost, and taken again');
      }
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
