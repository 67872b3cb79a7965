import { sql, type Kysely, type SelectQueryBuilder, type Transaction } from 'kysely';
import { releaseContents, removeGarbage } from '../storage/garbage.ts';
import { countInParents, findEntry, isEmpty, removeDirectory } from '../storage/entries.ts';
import { childOf, parentOf, placeOfAbsolute, type Place } from '../storage/paths.ts';
import type { JobOutputRow, JobTaskRow } from '../store/job-schema.ts';
import { isAmong, listValues } from '../store/list-rows.ts';
import { readPages } from '../store/read-pages.ts';
import type { EntryRow, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob } from './active-job.ts';
import { findInputTable, jobDirectory } from './find.ts';

/** Outputs removed per transaction. */
const batchSize = 500;

/** Paths that the job wrote as inputs of a phase (not the first). */
async function* listPaths({ db }: Store, job: string, phase: number, signal?: AbortSignal): AsyncGenerator<string[]> {
  const where = sql`job = ${job} and phase = ${phase}`;
  const page = { key: ['number'] as const, columns: ['number', 'input', 'given'] as const, where, size: batchSize, signal };
  const pages = readPages<Pick<JobTaskRow, 'number' | 'input' | 'given'>>(db, await findInputTable(db, job, phase), page);
  // Not a condition of the query, which would read very many rows for one page if tasks named most paths.
  for await (const rows of pages) yield rows.flatMap(({ input, given }) => (given === 0 && input !== null ? input : []));
}

/**
 * The query of those paths that a task named as an output of the whole job. The value of `given` is part of its text, because with a
 * parameter SQLite does not use the index of these outputs.
 */
export function selectNamed(
  db: Kysely<Schema>,
  job: string,
  paths: readonly string[],
): SelectQueryBuilder<Schema, 'job_outputs', Pick<JobOutputRow, 'output'>> {
  return db
    .selectFrom('job_outputs')
    .select('output')
    .where('job', '=', job)
    .where('given', '=', sql.lit(1))
    .where('output', 'in', sql<string>`(select value from ${listValues(db, JSON.stringify(paths))})`);
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
 * Removes the directories of removed outputs that have become empty, and those above them that become empty by that. Conditions are checked
 * under the lock of each directory, in a transaction that sees what others have stored before.
 */
async function removeEmpty(store: Store, outputs: Place, paths: readonly string[]): Promise<void> {
  const directories = new Map<string, Place>();
  const parents = paths.flatMap((path) => parentOf(placeOfAbsolute(path) ?? outputs) ?? []);
  for (const parent of new Map(parents.map((each) => [each.path, each])).values()) {
    if (!(await isEmpty(store.db, parent))) continue;
    for (let place: Place | undefined = parent; place?.path.startsWith(`${outputs.path}/`) === true; place = parentOf(place))
      directories.set(place.path, place);
  }
  if (directories.size === 0) return;
  const deepestFirst = [...directories.values()].toSorted((a, b) => b.parts.length - a.parts.length || (a.path < b.path ? -1 : 1));
  await store.writeEntry(async (transaction) => {
    for (const place of deepestFirst) {
      if (!(await isEmpty(transaction, place)) || (await findEntry(transaction, place, 'alone'))?.type !== 'directory') continue;
      if (await isEmpty(transaction, place)) await removeDirectory(transaction, place);
    }
  });
}

/**
 * Removes the intermediate results of a job: outputs of all phases but the last, except those that a task of the last phase named as its
 * own output, and the directories that they leave empty. Idempotent. @param signal ends the work between two batches
 */
export async function removeIntermediate(
  store: Store,
  { id, account, phases }: Pick<ActiveJob, 'id' | 'account' | 'phases'>,
  signal?: AbortSignal,
): Promise<void> {
  const outputs = childOf(jobDirectory(account.login, id), 'stor');
  for (let phase = 1; phase < phases.length; phase += 1) {
    for await (const paths of listPaths(store, id, phase, signal)) {
      const garbage = await store.write(async (transaction) => {
        const named = new Set((await selectNamed(transaction, id, paths).execute()).map(({ output }) => output));
        const removed = await removeObjects(
          transaction,
          paths.filter((path) => !named.has(path)),
        );
        return releaseContents(transaction, removed);
      });
      await removeGarbage(store, garbage);
      await removeEmpty(store, outputs, paths);
    }
  }
}
