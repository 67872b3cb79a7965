import type { Body, ByteStream } from '../../api/message.ts';

export interface StoredBytes {
  id: string;
  size: number;
  /** MD5 in Base64. */
  md5: string;
}

/** An incomplete multipart write of a content. */
export interface Unfinished {
  readonly id: string;
  /** Aborts the write and removes its bytes; no effect if the write has completed. */
  readonly abort: () => Promise<void>;
}

/** Name of the file or object of the text beside the contents. */
export const collectorName = '.cloud-collector';

/** Name of the file or object with the id of the cluster whose contents are beside it. */
export const markerName = '.cloud-bytes';

/** A short text beside the contents, which is replaced atomically. */
export interface Note {
  /** Undefined if it was never written. */
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

/**
 * The store of contents: write a stream, read a range, remove, list. Contents never change once written, so readers, links and overwriting
 * do not affect each other. If the contents are not on this machine, every method but `measureFree` may throw `StoreUnavailable`.
 */
export interface ByteStore {
  /** Resolves when the bytes are stored durably under their id; nothing is kept when the stream fails. */
  write(body: Body): Promise<StoredBytes>;
  /** The same for bytes in memory; a few bytes are kept only in the row that names their id. */
  keep(bytes: Uint8Array): Promise<StoredBytes>;
  /** The same for repetitive bytes, which are compressed: every reader reads from the beginning. */
  writeCompressed(body: Body): Promise<StoredBytes>;
  /**
   * Bytes from `start` up to, not including, `end`; resolves when the first of them can be read, and throws if the content does not exist.
   * The stream fails unless it delivers the last of these bytes. A caller that does not read it to the end calls its `return`.
   */
  read(id: string, start: number, end: number): Promise<ByteStream>;
  /**
   * Puts a content at the unused path `file`, as a file that must not be written to: on the same disk it is not copied.
   * @returns false if the content no longer exists, or only `read` can access it; `file` does not exist then.
   */
  place(id: string, file: string): Promise<boolean>;
  /** Free space in bytes; Infinity if unknown. */
  measureFree(): Promise<number>;
  /** No effect if the content has already been removed. */
  remove(id: string): Promise<void>;
  /** Ids of all contents, or of those written before a time (milliseconds since the epoch). */
  list(before?: number): AsyncIterable<string>;
  /** Writes that began before a time and have not completed. Absent if crashes leave none behind. */
  listUnfinished?(before: number): AsyncIterable<Unfinished>;
  /** Says which database removes contents here. Absent if no other can: then the contents belong to one process. */
  readonly collector?: Note;
}
