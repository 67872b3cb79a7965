import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { countNoted } from '../note-garbage.ts';
import type { ObjectPut } from '../object-put.ts';
import type { Schema } from '../schema.ts';
import type { Store } from '../store.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { isRepeatable } from './errors.ts';
import { putObjectAtOnce } from './put-object.ts';

/** Milliseconds for which a write that others are in the way of is tried again, and the longest pause between. */
const patience = 5000;
const longestPause = 100;

/** Transactions of all stores of this process. */
const counts = { commits: 0, retries: 0, noted: 0 };

/** How many transactions this process has committed, how often it has run one again, and how many contents the committed ones left to the collector. */
export function countWrites(): Readonly<typeof counts> {
  return counts;
}

/** What a process needs to write. */
export interface Admission {
  /** Runs first in each transaction that writes. @throws {StoreUnavailable} where this process must not write */
  admit(transaction: Transaction<Schema>): Promise<void>;
  /** Id of the lease without which the work that asks must not write. */
  leaseOf(): string;
}

/** Writes of one process. */
export interface Writes extends Required<Pick<Store, 'write' | 'writeEntry' | 'putAtOnce'>> {
  /** Transactions committed so far. */
  commits(): number;
}

/**
 * Makes what writes: each work in a transaction of its own, run again when another was in its way. That of `write` is serializable; that of
 * `writeEntry` is READ COMMITTED, so that each of its queries sees all that was committed before the query, and what it has locked stays.
 * @param admission left out where nothing but the database is written to
 */
export function createWrites(db: Kysely<Schema>, admission: Admission | undefined): Writes {
  let commits = 0;
  const countCommit = (noted: number): void => {
    commits += 1;
    counts.commits += 1;
    counts.noted += noted;
  };
  const writeAs =
    (level: 'serializable' | 'read committed'): Store['write'] =>
    async (work) => {
      const end = performance.now() + patience;
      for (let pause = 1; ; pause = Math.min(longestPause, pause * 2)) {
        try {
          const [value, noted] = await db
            .transaction()
            .setIsolationLevel(level)
            .execute(async (transaction) => {
              await admission?.admit(transaction);
              const done = await work(transaction);
              return [done, countNoted(transaction)] as const;
            });
          countCommit(noted);
          return value;
        } catch (error) {
          if (!isRepeatable(error)) throw error;
          if (performance.now() > end) throw new StoreUnavailable('others have written the same for too long', { cause: error });
        }
        counts.retries += 1;
        await sleep(Math.random() * pause);
      }
    };
  const putAtOnce = async (put: ObjectPut): Promise<boolean> => {
    try {
      const noted = await putObjectAtOnce(db, put, admission?.leaseOf() ?? null);
      if (noted !== undefined) countCommit(noted);
      return noted !== undefined;
    } catch (error) {
      // It was undone; a transaction is run again for as long as others are in its way.
      if (!isRepeatable(error)) throw error;
      counts.retries += 1;
      return false;
    }
  };
  return { write: writeAs('serializable'), writeEntry: writeAs('read committed'), putAtOnce, commits: () => commits };
}
