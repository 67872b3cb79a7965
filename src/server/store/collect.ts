import type { Kysely } from 'kysely';
import { gatherItems } from '../../base/batches.ts';
import type { Schema } from './schema.ts';
import type { Store } from './store.ts';

/** Contents looked up in one query. */
const batchSize = 200;

/** Which of these contents a row still refers to. */
export type FindReferenced = (db: Kysely<Schema>, ids: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Removes contents that no row refers to: what a crash left between storing bytes and storing their row. Contents written
 * after `before` (milliseconds since the epoch) are left alone, for their rows may be on the way. Stops early when `signal` says so.
 * @returns how many were removed.
 */
export async function collectUnreferenced(
  store: Store,
  before: number,
  findReferenced: FindReferenced,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  for await (const ids of gatherItems(store.bytes.list(before), batchSize)) {
    if (signal?.aborted === true) return removed;
    const referenced = await findReferenced(store.db, ids);
    for (const id of ids.filter((id) => !referenced.has(id))) {
      await store.bytes.remove(id);
      removed += 1;
    }
  }
  return removed;
}
