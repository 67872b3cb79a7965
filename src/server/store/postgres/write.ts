import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { countNoted } from '../note-garbage.ts';
import type { ObjectPut } from '../object-put.ts';
import type { Schema } from '../schema.ts';
import type { Store } from '../store.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { isRepeatable } from './errors.ts';
import { putObjectAtOnce } from './put-object.ts';

/** Milliseconds for which a conflicting write is retried, and the longest pause between attempts. */
const timeoutMs = 5000;
const longestPause = 100;

/** Transactions of all stores of this process. */
const counts = { commits: 0, retries: 0, noted: 0 };

/** Counts the transactions that this process has committed, its retries, and the contents that committed ones left to the collector. */
export function countWrites(): Readonly<typeof counts> {
  return counts;
}

/** Permission of a process to write. */
export interface Admission {
  /** Runs first in each writing transaction. @throws {StoreUnavailable} when this process must not write */
  admit(transaction: Transaction<Schema>): Promise<void>;
  /** Id of the lease under which the current work writes. */
  leaseOf(): string;
}

/** Writes of one process. */
export type Writes = Required<Pick<Store, 'write' | 'writeEntry' | 'putAtOnce'>>;

/**
 * Creates the write functions: each work runs in its own transaction, which is retried after a conflict. `write` is serializable.
 * `writeEntry` is READ COMMITTED: each of its queries sees everything committed before the query, and rows that it has locked do not
 * change.
 * @param admission omitted if nothing but the database is written to
 */
export function createWrites(db: Kysely<Schema>, admission: Admission | undefined): Writes {
  const countCommit = (noted: number): void => {
    counts.commits += 1;
    counts.noted += noted;
  };
  const writeAs =
    (level: 'serializable' | 'read committed'): Store['write'] =>
    async (work) => {
      const end = performance.now() + timeoutMs;
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
      // It was rolled back; the caller uses a transaction, which is retried while it conflicts with others.
      if (!isRepeatable(error)) throw error;
      counts.retries += 1;
      return false;
    }
  };
  return { write: writeAs('serializable'), writeEntry: writeAs('read committed'), putAtOnce };
}
