import { sql, type Transaction } from 'kysely';
import { releaseContents, removeGarbage } from '../storage/garbage.ts';
import { countInParents } from '../storage/entries.ts';
import { placeOfAbsolute } from '../storage/paths.ts';
import { isAmong, listValues } from '../store/list-rows.ts';
import type { EntryRow, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** Outputs removed per transaction. */
const batchSize = 500;

/** Paths that the job wrote as inputs of a phase (not the first), with numbers above `after`; `last` is -1 when none are left. */
async function listPaths(
  transaction: Transaction<Schema>,
  job: string,
  phase: number,
  after: number,
): Promise<{ paths: string[]; last: number }> {
  const { reducers = 0 } =
    (await transaction.selectFrom('job_phases').select('reducers').where('job', '=', job).where('phase', '=', phase).executeTakeFirst()) ??
    {};
  const rows = await transaction
    .selectFrom(reducers > 0 ? 'job_reduce_inputs' : 'job_tasks')
    .select(['number', 'input'])
    .where('job', '=', job)
    .where('phase', '=', phase)
    .where('given', '=', 0)
    .where('number', '>', after)
    .orderBy('number')
    .limit(batchSize)
    .execute();
  return { paths: rows.flatMap(({ input }) => input ?? []), last: rows.at(-1)?.number ?? -1 };
}

/** Those of the given paths that a task named as an output of the whole job. */
async function listNamed(transaction: Transaction<Schema>, job: string, paths: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await transaction
    .selectFrom('job_outputs')
    .select('output')
    .where('job', '=', job)
    .where('given', '=', 1)
    .where('output', 'in', sql<string>`(select value from ${listValues(transaction, JSON.stringify(paths))})`)
    .execute();
  return new Set(rows.map(({ output }) => output));
}

/** Removes objects and updates the counts of their directories. @returns the removed rows */
async function removeObjects(transaction: Transaction<Schema>, paths: readonly string[]): Promise<Pick<EntryRow, 'content'>[]> {
  const places = paths.flatMap((path) => placeOfAbsolute(path) ?? []);
  const query = transaction.deleteFrom('entries').where('type', '=', 'object').where(isAmong(transaction, places));
  const removed = await query.returning(['parent', 'content']).execute();
  await countInParents(transaction, removed, -1);
  return removed;
}

/**
 * Removes the intermediate results of a job: outputs of all phases but the last, except those that a task of the last phase named as its
 * own output. Idempotent.
 */
export async function removeIntermediate(store: Store, { id, phases }: { id: string; phases: readonly unknown[] }): Promise<void> {
  for (let phase = 1; phase < phases.length; phase += 1) {
    for (let after = -1; ;) {
      const { garbage, last } = await store.write(async (transaction) => {
        const { paths, last } = await listPaths(transaction, id, phase, after);
        if (paths.length === 0) return { garbage: [], last };
        const named = await listNamed(transaction, id, paths);
        const removed = await removeObjects(
          transaction,
          paths.filter((path) => !named.has(path)),
        );
        return { garbage: await releaseContents(transaction, removed), last };
      });
      await removeGarbage(store, garbage);
      if (last === -1) break;
      after = last;
    }
  }
}
