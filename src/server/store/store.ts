import type { Kysely, Transaction } from 'kysely';
import type { ByteStore } from './bytes.ts';
import type { ObjectPut } from './object-put.ts';
import type { RunningDigest } from './running-digest.ts';
import type { Schema } from './schema.ts';

/** Says to the other processes of a database that there may be something to do. A notice has no content, and may be lost. */
export interface Notices {
  send(): void;
  /** Tells of notices, own ones too, until the function that is returned is called. */
  listen(onNotice: () => void): () => Promise<void>;
}

/** The data of the local service: rows in a database, bytes beside it. */
export interface Store {
  /** For reading. */
  readonly db: Kysely<Schema>;
  readonly bytes: ByteStore;
  /** Begins the MD5 of contents one after the other, which is kept in memory: absent where another process may get the next part. */
  readonly digest?: () => RunningDigest;
  /**
   * Does `work` in a transaction and resolves when it is on disk. Works that arrive together share one flush; each is
   * undone alone when it throws. `work` awaits nothing but queries on the transaction it is given.
   */
  write<T>(work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T>;
  /**
   * The same for `work` that locks what it decides by (`storage/locks.ts`), and sees what others commit meanwhile. On SQLite, where one
   * transaction writes at a time, it is `write`; on PostgreSQL many writers in one directory do not stand in each other's way.
   */
  writeEntry<T>(work: (transaction: Transaction<Schema>) => Promise<T>): Promise<T>;
  /**
   * Puts an object in its place by one statement, for which its gateway waits once. False where what is there, or its directory, is not as
   * it was read, or where it takes more than that: then nothing was written, and `writeEntry` decides. Absent where a wait costs nothing.
   */
  readonly putAtOnce?: ((put: ObjectPut) => Promise<boolean>) | undefined;
  /**
   * Says that something begins to read contents, where other processes may remove them; the function that is returned says that it is over.
   * Absent where one process alone has the contents.
   */
  readonly beginReading?: (() => () => void) | undefined;
  /** Absent where one process alone has the data. */
  readonly notices?: Notices | undefined;
  close(): Promise<void>;
}
