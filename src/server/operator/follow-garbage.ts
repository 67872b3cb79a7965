import type { Kysely } from 'kysely';
import { measureGarbage } from '../store/postgres/garbage.ts';
import type { Schema } from '../store/schema.ts';
import { repeatRegularly } from '../repeat-regularly.ts';

/** Contents of a cluster that wait for removal. */
export interface WaitingGarbage {
  readonly count: number;
  /** Milliseconds that the oldest of them has been waiting; 0 if there are none. */
  readonly age: number;
}

/** Milliseconds between two measurements: reading metrics does not wait for the database. */
export const lookPause = 10_000;

/** Measures the garbage periodically. `read` returns undefined while the numbers are unknown. */
export function followGarbage(db: Kysely<Schema>): { read: () => WaitingGarbage | undefined; stop: () => Promise<void> } {
  let last: (WaitingGarbage & { readonly at: number }) | undefined;
  const measure = async (): Promise<void> => {
    try {
      const { count, age } = await measureGarbage(db);
      last = { count, age: age ?? 0, at: performance.now() };
    } catch {
      last = undefined;
    }
  };
  return {
    read: () => last && { count: last.count, age: last.count === 0 ? 0 : last.age + performance.now() - last.at },
    stop: repeatRegularly(measure, () => lookPause, 0),
  };
}
