import { Kysely, PostgresDialect } from 'kysely';
import { LocalError } from '../../../base/errors.ts';
import type { Schema } from '../schema.ts';
import { StoreUnavailable } from '../unavailable.ts';
import type { ByteStore } from '../bytes.ts';
import { openSharedBytes } from '../shared-bytes.ts';
import type { S3Bytes } from '../s3/bytes.ts';
import type { S3Options } from '../s3/options.ts';
import type { Store } from '../store.ts';
import { explainConnection } from './address.ts';
import { assertContentsBucket, assertContentsFolder } from './contents-place.ts';
import { assertMigrated } from './migrate.ts';
import { createNotices } from './notices.ts';
import { openPool } from './pool.ts';
import { createWrites, type Admission } from './write.ts';

/** The address of a database, without its secrets. */
function describeDatabase(url: string): string {
  try {
    const { protocol, hostname, port, pathname } = new URL(url);
    return `${protocol}//${hostname}${port === '' ? '' : `:${port}`}${pathname}`;
  } catch {
    return 'the database';
  }
}

/**
 * Opens a PostgreSQL database.
 * @param most maximum number of connections
 * @throws {LocalError} when it cannot be reached or rejects the user.
 */
export async function openPostgres(url: string, most?: number): Promise<Kysely<Schema>> {
  const pool = openPool(url, most);
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  try {
    const client = await pool.connect();
    client.release();
  } catch (error) {
    await pool.end();
    if (!(error instanceof StoreUnavailable)) throw error;
    const { reason, hint } = explainConnection(error.cause ?? error);
    throw new LocalError(`${describeDatabase(url)} cannot be used: ${reason}`, { hint, cause: error });
  }
  return db;
}

/** Options of a store on PostgreSQL. */
export interface ClusterStoreOptions {
  readonly database: string;
  /** Where the contents are: a directory that all gateways share, or a bucket. */
  readonly bytes: string | S3Options;
  /** Receives problems that may be temporary. */
  readonly log?: ((line: string) => void) | undefined;
  /** Maximum number of connections to the database. */
  readonly connections?: number | undefined;
  /** The permission under which this process writes. */
  readonly admission?: Admission | undefined;
  /** Called when an activity begins to read contents. */
  readonly beginReading?: Store['beginReading'];
}

/** Runs work on a database over one connection: nothing runs concurrently. */
export async function usePostgres<T>(url: string, work: (db: Kysely<Schema>) => Promise<T>): Promise<T> {
  const db = await openPostgres(url, 1);
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

/** @throws {LocalError} when the store rejects access or has other contents. An unreachable store may come back, and requests for metadata do not need it. */
async function openS3(db: Kysely<Schema>, options: S3Options, log: (line: string) => void, mark: boolean): Promise<S3Bytes> {
  const { openS3Bytes } = await import('../s3/bytes.ts');
  const bytes = openS3Bytes(options);
  try {
    await bytes.check();
    await assertContentsBucket(db, options, bytes, mark);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // Without a mark, the place is only checked.
    if (error instanceof StoreUnavailable && mark) log(message);
    else {
      await bytes.close();
      if (error instanceof LocalError || error instanceof StoreUnavailable) throw error;
      throw new LocalError(`the bucket ${options.bucket} at ${options.endpoint} cannot be used: ${message}`, {
        hint: 'is the bucket there, and may this key pair list, read, write and delete in it?',
        cause: error,
      });
    }
  }
  return bytes;
}

async function openBytes(
  db: Kysely<Schema>,
  { bytes, log = () => undefined }: Pick<ClusterStoreOptions, 'bytes' | 'log'>,
  mark = true,
): Promise<ByteStore & Partial<Pick<S3Bytes, 'close'>>> {
  if (typeof bytes !== 'string') return openS3(db, bytes, log, mark);
  await assertContentsFolder(db, bytes, mark);
  return openSharedBytes(bytes);
}

/**
 * Checks that a place has the contents of a migrated database, or is new; it is not marked.
 * @throws {LocalError} otherwise; {StoreUnavailable} if it does not respond
 */
export function checkPlace(database: string, place: ClusterStoreOptions['bytes']): Promise<void> {
  return usePostgres(database, async (db) => {
    await assertMigrated(db);
    const bytes = await openBytes(db, { bytes: place }, false);
    await bytes.close?.();
  });
}

/**
 * Opens a migrated database and its contents. Nothing of the database is cached in memory, because others may write to it.
 * @throws {LocalError} when the database or the place of the contents cannot be used, or the tables have another version than this release.
 */
export async function openClusterStore(options: ClusterStoreOptions): Promise<Store> {
  const { database, connections, admission, beginReading } = options;
  const db = await openPostgres(database, connections);
  try {
    await assertMigrated(db);
    const writes = createWrites(db, admission);
    const bytes = await openBytes(db, options);
    const notices = createNotices(db, database, options.log ?? (() => undefined));
    return {
      db,
      bytes,
      ...writes,
      beginReading,
      notices,
      close: async () => {
        await bytes.close?.();
        await notices.finish();
        await db.destroy();
      },
    };
  } catch (error) {
    await db.destroy();
    throw error;
  }
}
