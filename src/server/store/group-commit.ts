import { setImmediate } from 'node:timers/promises';
import { CompiledQuery, type Kysely, type Transaction } from 'kysely';
import { isDiskFull } from './disk-full.ts';
import type { Schema } from './schema.ts';
import { runQuery, withConnection } from './prepared-query.ts';
import type { Store } from './store.ts';

const begin = CompiledQuery.raw('savepoint work');
const undo = CompiledQuery.raw('rollback to savepoint work');
const end = CompiledQuery.raw('release savepoint work');

interface QueuedWork {
  /** Does the work inside a savepoint and keeps its outcome; throws only if the whole transaction is lost. */
  run(transaction: Transaction<Schema>): Promise<void>;
  /** Reports the outcome to the waiting caller; called once the outcome is on disk. */
  settle(): void;
  fail(error: unknown): void;
}

function queueWork<T>(
  work: (transaction: Transaction<Schema>) => Promise<T>,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): QueuedWork {
  let settle = (): void => undefined;
  return {
    async run(transaction) {
      await runQuery(transaction, begin);
      try {
        const value = await work(transaction);
        settle = () => resolve(value);
      } catch (error) {
        // If the savepoint no longer exists, the whole transaction was lost for the same reason.
        await runQuery(transaction, undo).catch(() => {
          throw error;
        });
        settle = () => reject(error);
      }
      await runQuery(transaction, end);
    },
    settle: () => settle(),
    fail: reject,
  };
}

/** Writes that share their flush. */
export interface GroupCommit {
  write: Store['write'];
  drain(): Promise<void>;
  /** Calls `work` while no transaction is in progress; writes wait for it. */
  pause<T>(work: () => Promise<T>): Promise<T>;
  /** Number of transactions committed so far. */
  commits(): number;
}

/** Gathers writes that arrive during a commit, and commits them together: one flush serves all. */
export function createGroupCommit(db: Kysely<Schema>): GroupCommit {
  const queue: QueuedWork[] = [];
  const pauses: (() => Promise<void>)[] = [];
  let running: Promise<void> | undefined;
  let commits = 0;

  async function commitGroup(group: readonly QueuedWork[]): Promise<void> {
    try {
      await db.transaction().execute((transaction) =>
        withConnection(transaction, async () => {
          for (const work of group) await work.run(transaction);
        }),
      );
      commits += 1;
      for (const work of group) work.settle();
    } catch (error) {
      // The disk was too full for the whole group: a deletion, or a smaller write, may still fit.
      if (group.length > 1 && isDiskFull(error)) for (const work of group) await commitGroup([work]);
      else for (const work of group) work.fail(error);
    }
  }

  async function commitAll(): Promise<void> {
    // Writes of other requests that arrive in the same turn join the first group.
    await setImmediate();
    while (queue.length > 0 || pauses.length > 0) {
      for (const pause of pauses.splice(0)) await pause();
      if (queue.length > 0) await commitGroup(queue.splice(0));
      await setImmediate();
    }
    running = undefined;
  }

  return {
    write: (work) =>
      new Promise((resolve, reject) => {
        queue.push(queueWork(work, resolve, reject));
        running ??= commitAll();
      }),
    drain: async () => {
      await running;
    },
    pause: (work) =>
      new Promise((resolve, reject) => {
        pauses.push(() => work().then(resolve, reject));
        running ??= commitAll();
      }),
    commits: () => commits,
  };
}
