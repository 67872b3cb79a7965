import type { Kysely } from 'kysely';
import { gatherItems } from '../../base/batches.ts';
import type { Schema } from './schema.ts';
import type { Store } from './store.ts';

/** Contents looked up in one query. */
const batchSize = 200;

/** Finds which of these contents are still referenced by a row. */
export type FindReferenced = (db: Kysely<Schema>, ids: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Removes contents that no row refers to, left by a crash between storing bytes and storing their row. Contents written after `before`
 * (milliseconds since the epoch) are kept, because their rows may not be written yet. Stops early when `signal` is aborted.
 * @returns how many were removed
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
