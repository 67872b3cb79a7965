import { createHash, randomUUID } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import { sliceList } from '../../base/batches.ts';
import type { StoredBytes } from './bytes.ts';
import { asBytes } from './as-bytes.ts';
import { isPostgres } from './engine-of.ts';
import { prepareQuery } from './prepared-query.ts';
import { rememberQuery } from './remembered-query.ts';
import type { Schema } from './schema.ts';

/**
 * Contents of a few KiB are stored in rows instead of files: they are written with the entry that names them, by one flush that many writes
 * share, and removed with the last such entry. Creating, flushing and renaming a file costs more than the rest of such a write.
 */

/** Maximum bytes of such a content: with a database on this machine, and with a database and a store of contents elsewhere. */
export const rowLimits = { sqlite: 8 * 1024, postgres: 16 * 1024 } as const;

const prefix = 'row/';

/** Bytes that `insertRow` is to write. */
export interface RowBytes extends StoredBytes {
  readonly row: Uint8Array;
}

/** An id that sorts after earlier ones, so that rows are adjacent in the order in which they were written. */
function createId(now: number): string {
  return `${prefix}${now.toString(16).padStart(12, '0')}-${randomUUID()}`;
}

/** Converts bytes to a content in a row of `db`; undefined if there are too many. @param now milliseconds since the epoch */
export function keepInRow(db: Kysely<Schema>, bytes: Uint8Array, now: number): RowBytes | undefined {
  const size = bytes.length;
  if (size === 0 || size > (isPostgres(db) ? rowLimits.postgres : rowLimits.sqlite)) return undefined;
  return { id: createId(now), size, md5: createHash('md5').update(bytes).digest('base64'), row: bytes };
}

/** True if a content is stored in a row. */
export function isRow(id: string): boolean {
  return id.startsWith(prefix);
}

const insert = prepareQuery((db, row: { id: string; bytes: Uint8Array }) => db.insertInto('contents').values(row).compile());

// In the group of entries: a row is written and removed together with an entry.
const select = rememberQuery(
  'entries',
  prepareQuery((db, { id }: { id: string }) => db.selectFrom('contents').select('bytes').where('id', '=', id).compile()),
  ({ bytes }) => bytes.byteLength,
);

/** Writes the row of a content, in the transaction that writes the entry which names it. */
export async function insertRow(transaction: Transaction<Schema>, { id, row: bytes }: RowBytes): Promise<void> {
  await insert(transaction, { id, bytes });
}

/** Rows per statement. */
const batchSize = 500;

/** Writes the rows of contents, in the transaction that writes the entries which name them. */
export async function insertRows(transaction: Transaction<Schema>, rows: readonly { id: string; bytes: Uint8Array }[]): Promise<void> {
  for (const batch of sliceList(rows, batchSize)) await transaction.insertInto('contents').values(batch).execute();
}

/** The bytes of a content in a row; undefined if no entry has it any more. */
export async function readRow(db: Kysely<Schema>, id: string): Promise<Uint8Array | undefined> {
  const [row] = await select(db, { id });
  return row && asBytes(row.bytes);
}

/** Removes the row of a content, in the transaction that removes the last entry which names it. */
export async function removeRow(transaction: Transaction<Schema>, id: string): Promise<void> {
  await transaction.deleteFrom('contents').where('id', '=', id).execute();
}
