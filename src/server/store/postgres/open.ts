import { Kysely, PostgresDialect } from 'kysely';
import { LocalError } from '../../../base/errors.ts';
import type { Schema } from '../schema.ts';
import { StoreUnavailable } from '../unavailable.ts';
import type { ByteStore } from '../bytes.ts';
import { openSharedBytes } from '../shared-bytes.ts';
import type { LocalStore } from '../open.ts';
import type { S3Options } from '../s3/options.ts';
import type { Store } from '../store.ts';
import { assertContentsFolder } from './contents-folder.ts';
import { assertMigrated } from './migrate.ts';
import { createNotices } from './notices.ts';
import { openPool } from './pool.ts';
import { createWrites, type Admission } from './write.ts';

/** Where a database is, without what is secret about it. */
export function describeDatabase(url: string): string {
  try {
    const { protocol, hostname, port, pathname } = new URL(url);
    return `${protocol}//${hostname}${port === '' ? '' : `:${port}`}${pathname}`;
  } catch {
    return 'the database';
  }
}

/**
 * Opens a PostgreSQL database.
 * @param most connections at once
 * @throws {LocalError} when it cannot be reached or refuses the user.
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
    const { cause } = error;
    const reason = cause instanceof Error ? cause.message : error.message;
    throw new LocalError(`${describeDatabase(url)} cannot be used: ${reason === '' ? 'no connection' : reason}`, {
      hint: 'is PostgreSQL running there, and may this user connect? Try: psql with the same URL',
      cause: error,
    });
  }
  return db;
}

/** What a store on PostgreSQL consists of. */
export interface ClusterStoreOptions {
  readonly database: string;
  /** Where the contents are: a directory that all gateways share, or a bucket. */
  readonly bytes: string | S3Options;
  /** Told of what is wrong and may pass. */
  readonly log?: ((line: string) => void) | undefined;
  /** Connections to the database at once. */
  readonly connections?: number | undefined;
  /** Under which this process writes. */
  readonly admission?: Admission | undefined;
  /** Says that something begins to read contents. */
  readonly beginReading?: Store['beginReading'];
}

/** A place of contents, and what closes it. */
interface OpenedBytes {
  readonly bytes: ByteStore;
  close(): Promise<void>;
}

/** @throws {LocalError} where the store refuses to be used. One that is away may come back: metadata needs none. */
async function openS3(options: S3Options, log: (line: string) => void): Promise<OpenedBytes> {
  const { openS3Bytes } = await import('../s3/bytes.ts');
  const bytes = openS3Bytes(options);
  try {
    await bytes.check();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof StoreUnavailable) log(message);
    else {
      await bytes.close();
      throw new LocalError(`the bucket ${options.bucket} at ${options.endpoint} cannot be used: ${message}`, {
        hint: 'is the bucket there, and may this key pair list, read, write and delete in it?',
        cause: error,
      });
    }
  }
  return { bytes, close: () => bytes.close() };
}

async function openBytes(db: Kysely<Schema>, { bytes, log = () => undefined }: ClusterStoreOptions): Promise<OpenedBytes> {
  if (typeof bytes !== 'string') return openS3(bytes, log);
  await assertContentsFolder(db, bytes);
  return { bytes: await openSharedBytes(bytes), close: async () => undefined };
}

/**
 * Opens a database that was migrated, with the contents beside it. Nothing of it is kept in memory: others may write it.
 * @throws {LocalError} when the database or the place of the contents cannot be used, or has another version than this release.
 */
export async function openClusterStore(options: ClusterStoreOptions): Promise<LocalStore> {
  const { database, connections, admission, beginReading } = options;
  const db = await openPostgres(database, connections);
  try {
    await assertMigrated(db);
    const writes = createWrites(db, admission);
    const { bytes, close } = await openBytes(db, options);
    const notices = createNotices(db, database, options.log ?? (() => undefined));
    return {
      db,
      bytes,
      ...writes,
      beginReading,
      notices,
      close: async () => {
        await close();
        await notices.finish();
        await db.destroy();
      },
    };
  } catch (error) {
    await db.destroy();
    throw error;
  }
}
