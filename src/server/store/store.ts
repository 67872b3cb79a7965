import type { Kysely, Transaction } from 'kysely';
import type { ByteStore } from './bytes.ts';
import type { ObjectPut } from './object-put.ts';
import type { RunningDigest } from './running-digest.ts';
import type { Schema } from './schema.ts';

/** Notifies the other processes of a database that there may be work. A notice has no content, and may be lost. */
export interface Notices {
  send(): void;
  /** Reports notices, including those of this process, until the returned function is called. */
  listen(onNotice: () => void): () => Promise<void>;
}

/** The data of the local service: a database, and a store of contents. */
export interface Store {
  /** For reading. */
  readonly db: Kysely<Schema>;
  readonly bytes: ByteStore;
  /** Begins an MD5 over several contents in order, kept in memory; absent if another process may receive the next part. */
  readonly digest?: () => RunningDigest;
  /**
   * Does `work` in a transaction and resolves when it is on disk. Concurrent writes share one flush; each is rolled back separately when it
   * throws. `work` awaits nothing but queries on its transaction, and may run again.
   */
  write<T>(work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T>;
  /**
   * The same for `work` that locks the rows its decisions depend on (`storage/locks.ts`), and sees what others commit meanwhile. On SQLite,
   * where only one transaction writes at a time, it is the same as `write`; on PostgreSQL, many writers in one directory do not block each
   * other.
   */
  writeEntry<T>(work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T>;
  /**
   * Writes an object in one statement, for which the gateway waits only once. False if the entry or its directory has changed since it was
   * read, or if more is needed: then nothing was written, and `writeEntry` decides. Absent if queries involve no waiting.
   */
  readonly putAtOnce?: ((put: ObjectPut) => Promise<boolean>) | undefined;
  /**
   * Marks the beginning of reading contents, if other processes may remove them; the returned function marks the end. Absent if only one
   * process uses the contents.
   */
  readonly beginReading?: (() => () => void) | undefined;
  /** Absent if only one process uses the data. */
  readonly notices?: Notices | undefined;
  close(): Promise<void>;
}
