import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import { isPostgres } from './engine-of.ts';
import { isAmong } from './list-rows.ts';
import { prepareQuery } from './prepared-query.ts';
import type { EntryRow, Schema } from './schema.ts';

/**
 * The number of entries of each directory, so that listings need not count. On SQLite it is in the directory's row. On PostgreSQL that row
 * would be a lock for which all writers in the directory wait. There, each write adds a row to `count_changes`; the count is the row's
 * number plus the sum of these changes, and `foldCounts` adds them to the row.
 */

/** Primary key of the directory's row. */
export type DirectoryKey = Pick<EntryRow, 'parent' | 'name'>;

/** Maximum number of changes folded in one transaction. */
export const batchSize = 5000;

/** The number of entries, in a query of a directory's row in `entries`. One query reads both parts of the count at the same moment. */
export function selectCount(db: Kysely<Schema>): RawBuilder<number> {
  if (!isPostgres(db)) return sql`children`;
  return sql`children + coalesce((
    select cast(sum(change) as bigint) from count_changes of where of.parent = entries.parent and of.name = entries.name), 0)`;
}

const addToRow = prepareQuery((db, { parent, name, change }: DirectoryKey & { change: number }) =>
  db
    .updateTable('entries')
    .set({ children: sql`children + ${change}` })
    .where('parent', '=', parent)
    .where('name', '=', name)
    .compile(),
);

const insertChange = prepareQuery((db, row: DirectoryKey & { change: number }) => db.insertInto('count_changes').values(row).compile());

/** Changes the entry count of a directory, in the transaction that creates or removes the entries. */
export async function changeCount(transaction: Transaction<Schema>, { parent, name }: DirectoryKey, change: number): Promise<void> {
  const add = isPostgres(transaction) ? insertChange : addToRow;
  await add(transaction, { parent, name, change });
}

/** Drops the count changes of directories, in the transaction that removes the directories with all their entries. */
export async function dropCounts(transaction: Transaction<Schema>, directories: readonly DirectoryKey[]): Promise<void> {
  if (!isPostgres(transaction) || directories.length === 0) return;
  await sql`delete from count_changes where ${isAmong(transaction, directories)}`.execute(transaction);
}

/** @returns the number of folded changes */
async function foldBatch(db: Kysely<Schema>): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    // Locks in the same order as the removal of a directory: its row, then its changes. Rows that another process is folding are skipped.
    const { rows: directories } = await sql<DirectoryKey>`
      select parent, name from entries
      where (parent, name) in (
        select parent, name from count_changes join entries as of using (parent, name) limit ${batchSize}
      )
      for no key update skip locked`.execute(transaction);
    if (directories.length === 0) return 0;
    const { rows } = await sql<{ changes: number }>`
      with picked as (
        select parent, name, number from count_changes where ${isAmong(transaction, directories)} limit ${batchSize}
      ), folded as (
        delete from count_changes using picked
        where count_changes.parent = picked.parent and count_changes.name = picked.name and count_changes.number = picked.number
        returning picked.parent, picked.name, change
      ), sums as (
        select parent, name, cast(sum(change) as bigint) as added, count(*) as changes from folded group by parent, name
      )
      update entries set children = children + added from sums
      where entries.parent = sums.parent and entries.name = sums.name returning changes`.execute(transaction);
    return rows.reduce((sum, { changes }) => sum + changes, 0);
  });
}

/** Folds batches until one is not full, or the signal stops it. Several processes may do this concurrently. Does nothing on SQLite. */
export function createFold(foldOne: typeof foldBatch): (db: Kysely<Schema>, signal?: AbortSignal) => Promise<void> {
  return async (db, signal) => {
    if (!isPostgres(db)) return;
    for (;;) {
      if (signal?.aborted === true || (await foldOne(db)) < batchSize) return;
    }
  };
}

/** Adds count changes to the rows of their directories, in small transactions for which no writer in these directories waits. */
export const foldCounts = createFold(foldBatch);
