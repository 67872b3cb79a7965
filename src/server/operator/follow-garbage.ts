import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { measureGarbage } from '../store/postgres/garbage.ts';
import type { Schema } from '../store/schema.ts';

/** Contents of a cluster that wait for removal. */
export interface WaitingGarbage {
  readonly count: number;
  /** Milliseconds for which the first of them has been waiting; 0 without any. */
  readonly age: number;
}

/** Milliseconds between two looks. */
const pause = 10_000;

/** Looks now and then how much garbage there is, so that whoever reads metrics waits for no database. `read` gives nothing while it is not known. */
export function followGarbage(db: Kysely<Schema>): { read: () => WaitingGarbage | undefined; stop: () => Promise<void> } {
  const end = new AbortController();
  let last: (WaitingGarbage & { readonly at: number }) | undefined;
  const look = async (): Promise<typeof last> => {
    const { count, age } = await measureGarbage(db);
    return { count, age: age ?? 0, at: performance.now() };
  };
  const run = async (): Promise<void> => {
    while (!end.signal.aborted) {
      last = await look().catch(() => undefined);
      await sleep(pause, undefined, { signal: end.signal }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    read: () => last && { count: last.count, age: last.count === 0 ? 0 : last.age + performance.now() - last.at },
    stop: async () => {
      end.abort();
      await running;
    },
  };
}
