import { randomUUID } from 'node:crypto';
import { sql, type Kysely, type Transaction } from 'kysely';
import { LocalError } from '../../../base/errors.ts';
import type { Schema } from '../schema.ts';
import { StoreUnavailable } from '../unavailable.ts';

/** Seconds for which a gateway is taken for alive after it said so, and milliseconds after which it says so again, or tries to. */
const lifetime = 15;
const renewal = 5000;
const retry = 1000;

/** The leave of one gateway to write. Two that write at once would remove contents that the other needs. */
export interface Lease {
  readonly id: string;
  /** Milliseconds since it was renewed last. */
  age(): number;
  /** True from when the database said that it is gone until it was taken again. Never because the database is away. */
  isLost(): boolean;
  /** Runs first in each transaction that writes; nobody takes the lease over before that transaction ends. @throws {StoreUnavailable} when it is lost */
  admit(transaction: Transaction<Schema>): Promise<void>;
  /** Ends it, so that the next gateway need not wait. */
  release(): Promise<void>;
}

interface Holder {
  readonly address: string;
  readonly seconds: number;
}

/** Takes the lease where nobody alive has it. @returns who has it */
async function tryLease(db: Kysely<Schema>, id: string, address: string): Promise<Holder | undefined> {
  return db.transaction().execute(async (transaction) => {
    // Of several that try at once, one after the other.
    await sql`select number from steps where number = 0 for update`.execute(transaction);
    // Waits for the writes under way of who had it: none can be committed later.
    await sql`delete from gateways where until <= clock_timestamp()`.execute(transaction);
    const { rows } = await sql<Holder>`
      select address, cast(ceil(extract(epoch from until - clock_timestamp())) as bigint) as seconds
      from gateways where id <> ${id}`.execute(transaction);
    const [holder] = rows;
    if (holder) return holder;
    await sql`
      insert into gateways (id, address, started, until)
      values (${id}, ${address}, clock_timestamp(), clock_timestamp() + ${lifetime} * interval '1 second')
      on conflict (id) do update set until = excluded.until`.execute(transaction);
    return undefined;
  });
}

async function renew(db: Kysely<Schema>, id: string): Promise<boolean> {
  const { rows } = await sql`
    update gateways set until = clock_timestamp() + ${lifetime} * interval '1 second' where id = ${id} returning id`.execute(db);
  return rows.length === 1;
}

/**
 * Takes the lease of a database and keeps it until it is released. All times are the database's own.
 * @param address what others are told of who has it
 * @param renewAfter milliseconds
 * @throws {LocalError} when another gateway has it.
 */
export async function takeLease(db: Kysely<Schema>, address: string, log: (line: string) => void, renewAfter = renewal): Promise<Lease> {
  const id = randomUUID();
  const holder = await tryLease(db, id, address);
  if (holder) {
    throw new LocalError(`another gateway serves this database: ${holder.address}`, {
      hint: `stop it first; one that was killed is forgotten in ${holder.seconds} seconds`,
    });
  }
  let timer: NodeJS.Timeout | undefined;
  let renewing: Promise<void> = Promise.resolve();
  let isReleased = false;
  let isLost = false;
  let renewed = performance.now();
  const keep = async (): Promise<void> => {
    let next = retry;
    try {
      const begun = performance.now();
      if (await renew(db, id)) next = renewAfter;
      else {
        isLost = true;
        const other = await tryLease(db, id, address);
        isLost = other !== undefined;
        log(other ? `another gateway has taken over: ${other.address}; nothing is written here` : 'the lease was lost and taken again');
      }
      if (!isLost) renewed = begun;
    } catch (error) {
      log(`the lease cannot be renewed: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (!isReleased) schedule(next);
  };
  const schedule = (pause: number): void => {
    timer = setTimeout(() => {
      renewing = keep();
    }, pause);
  };
  schedule(renewAfter);
  return {
    id,
    age: () => performance.now() - renewed,
    isLost: () => isLost,
    async admit(transaction) {
      const { rows } = await sql`
        select id from gateways where id = ${id} and until > clock_timestamp() for key share`.execute(transaction);
      if (rows.length === 0) throw new StoreUnavailable('this gateway has lost its lease');
    },
    async release() {
      isReleased = true;
      clearTimeout(timer);
      await renewing;
      await sql`delete from gateways where id = ${id}`.execute(db);
    },
  };
}
