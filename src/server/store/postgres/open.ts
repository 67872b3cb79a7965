import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import { LocalError } from '../../../base/errors.ts';
import type { Schema } from '../schema.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { openFileBytes } from '../file-bytes.ts';
import type { LocalStore } from '../open.ts';
import { assertMigrated } from './migrate.ts';
import { openPool } from './pool.ts';
import { createWrites } from './write.ts';

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
  /** Directory of the contents, which all gateways share. */
  readonly bytes: string;
  /** Connections to the database at once. */
  readonly connections?: number | undefined;
  /** Runs first in each transaction that writes, and throws where this process must not write. */
  readonly admit?: ((transaction: Transaction<Schema>) => Promise<void>) | undefined;
}

/**
 * Opens a database that was migrated, with the contents beside it. Nothing of it is kept in memory: others may write it.
 * @throws {LocalError} when the database cannot be used, or has another version than this release.
 */
export async function openClusterStore({ database, bytes, connections, admit }: ClusterStoreOptions): Promise<LocalStore> {
  const db = await openPostgres(database, connections);
  try {
    await assertMigrated(db);
    const writes = createWrites(db, admit);
    return { db, bytes: await openFileBytes(bytes), ...writes, close: () => db.destroy() };
  } catch (error) {
    await db.destroy();
    throw error;
  }
}
