import { sql, type Kysely } from 'kysely';
import { ApiError } from '../../base/errors.ts';
import { isPostgres } from '../store/engine-of.ts';
import { rowLimits } from '../store/row-bytes.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

const mebibyte = 1024 * 1024;

/**
 * Bytes that contents leave free on the disk that they share with the database. With a full disk, the database could neither record a
 * deletion nor be opened: it needs up to 4 MiB for its log, and as many to copy the log into its file.
 */
const reserved = 8 * mebibyte;

/** Bytes that are stored until the free space is measured again, and bytes that each content adds to the database. */
const measuredEach = mebibyte;
const rowSize = 4096;

/** Bytes of free pages in the database file with which contents in rows need no more of the disk. */
const freePages = 64 * 1024;

/** How many bytes may be stored before the next measurement. */
const remaining = new WeakMap<Store, number>();

/** A measurement of the free space. */
interface Measurement {
  /** Free bytes. */
  readonly free: Promise<number>;
  /** Bytes of the contents that were accepted by this measurement. */
  accepted: number;
}

/** Measurements in progress. */
const measuring = new WeakMap<Store, Measurement>();

/** Measures the free space, once for all requests that ask meanwhile. */
function measureFree(store: Store): Measurement {
  const current = measuring.get(store);
  if (current !== undefined) return current;
  const measurement = { free: store.bytes.measureFree().finally(() => measuring.delete(store)), accepted: 0 };
  measuring.set(store, measurement);
  return measurement;
}

/** Bytes in the database file that it no longer uses; deleted rows do not shrink the file. */
async function measureFreePages(db: Kysely<Schema>): Promise<number> {
  const { rows } = await sql<{
    free: number;
  }>`select freelist_count * page_size as free from pragma_freelist_count, pragma_page_size`.execute(db);
  return rows[0]?.free ?? 0;
}

/** True if contents of this size may be stored without another measurement. */
function needsNoMeasurement(store: Store, length: number): boolean {
  // The database is on another machine, and writes none of these contents to this disk.
  if (isPostgres(store.db)) return length < mebibyte;
  const left = (remaining.get(store) ?? 0) - length - rowSize;
  remaining.set(store, left);
  return left >= 0;
}

/**
 * @param length bytes; Infinity if unknown
 * @param what beginning of a message that ends with the length
 * @throws {ApiError} 507 `NotEnoughSpace` for a body that does not fit into the free space, before any of it is read
 */
export async function assertSpace(store: Store, length: number, what = 'content-length is'): Promise<void> {
  const least = length === Infinity ? 0 : length;
  if (needsNoMeasurement(store, least)) return;
  const measurement = measureFree(store);
  // Without the contents of other requests that share the measurement: none of them is stored yet.
  const free = (await measurement.free) - measurement.accepted;
  const kept = isPostgres(store.db) ? 0 : reserved;
  const space = free - least - kept;
  remaining.set(store, Math.min(space, measuredEach));
  if (space >= 0) measurement.accepted += least + rowSize;
  if (space >= 0 || (kept > 0 && length <= rowLimits.sqlite && (await measureFreePages(store.db)) >= freePages)) return;
  const subject = length === Infinity ? '' : `${what} ${length}, but `;
  const reason = kept === 0 ? '' : `, of which ${kept} are needed to delete objects`;
  throw new ApiError(507, 'NotEnoughSpace', `${subject}the disk of the service has ${free} bytes left${reason}`);
}
