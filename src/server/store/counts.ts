import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import { isPostgres } from './engine-of.ts';
import { isAmong } from './list-rows.ts';
import { prepareQuery } from './prepared-query.ts';
import type { EntryRow, Schema } from './schema.ts';

/**
 * The number of entries of each directory, so that no listing has to count. On SQLite it stands in the directory's row. On PostgreSQL that
 * row would be a lock that all writers in the directory wait for: there each adds a row of `count_changes`, the number is that of the row
 * with the sum of these, and `foldCounts` takes them into the row.
 */

/** Primary key of the directory's row. */
export type DirectoryKey = Pick<EntryRow, 'parent' | 'name'>;

/** Changes that are folded in one transaction. */
const batchSize = 5000;

/** The number of entries, in a query of the row of a directory in `entries`. One query reads both parts of it at one moment. */
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

/** Adds to the number of entries of a directory, in the transaction that makes or removes them. */
export async function changeCount(transaction: Transaction<Schema>, { parent, name }: DirectoryKey, change: number): Promise<void> {
  const add = isPostgres(transaction) ? insertChange : addToRow;
  await add(transaction, { parent, name, change });
}

/** Forgets the numbers of entries of directories, in the transaction that removes them with all that was in them. */
export async function dropCounts(transaction: Transaction<Schema>, directories: readonly DirectoryKey[]): Promise<void> {
  if (!isPostgres(transaction) || directories.length === 0) return;
  await sql`delete from count_changes where ${isAmong(transaction, directories)}`.execute(transaction);
}

/** @returns how many changes there were to fold */
async function foldBatch(db: Kysely<Schema>): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    // In the order of whoever removes a directory: its row, then its changes. What another one folds is left to it.
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

/**
 * Takes changes of numbers of entries into the rows of their directories, in small transactions, for which no writer in these directories
 * waits. Several processes may do so at once. On SQLite there is nothing to do.
 * @param signal ends it early
 */
export async function foldCounts(db: Kysely<Schema>, signal?: AbortSignal): Promise<void> {
  if (!isPostgres(db)) return;
  for (;;) {
    if (signal?.aborted === true || (await foldBatch(db)) < batchSize) return;
  }
}
