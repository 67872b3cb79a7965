import type { Body, ByteStream } from '../../api/message.ts';

/** Bytes that were stored. */
export interface StoredBytes {
  id: string;
  size: number;
  /** MD5, Base64. */
  md5: string;
}

/** A content that somebody began to store in several parts, and has not ended. */
export interface Unfinished {
  readonly id: string;
  /** Gives it up with what there is of it; nothing happens where it has ended. */
  readonly abort: () => Promise<void>;
}

/**
 * Where contents are kept: write a stream, read a range, remove, list. Contents never change once written, so readers,
 * links and overwriting never disturb each other. Where they are kept elsewhere than on this machine, all but `measureFree` may throw
 * `StoreUnavailable`.
 */
export interface ByteStore {
  /** Resolves when the bytes are kept for good under their id; nothing is kept when the stream fails. */
  write(body: Body): Promise<StoredBytes>;
  /** The same for bytes that are at hand; few are kept only with the row that names their id. */
  keep(bytes: Uint8Array): Promise<StoredBytes>;
  /** The same for bytes that repeat themselves: they take less room, and every reader reads from the beginning. */
  writeCompressed(body: Body): Promise<StoredBytes>;
  /**
   * Bytes from `start` up to, not including, `end`, once the first of them are there to be read: where the content is not, it throws. The
   * stream ends with the last byte that was asked for or fails; whoever does not read it to its end calls its `return`.
   */
  read(id: string, start: number, end: number): Promise<ByteStream>;
  /**
   * Puts a content at `file`, where nothing is, as a file that must only be read: without copying it where it is on the same disk.
   * @returns false where there is no such content any more, or where only `read` gives it; then nothing is at `file`.
   */
  place(id: string, file: string): Promise<boolean>;
  /** Bytes that there is room for; Infinity where nobody knows. */
  measureFree(): Promise<number>;
  /** Nothing happens where it was removed before. */
  remove(id: string): Promise<void>;
  /** Ids of all contents, or of those written before a time (milliseconds since the epoch). */
  list(before?: number): AsyncIterable<string>;
  /** Contents that were begun before a time and are no contents yet. Absent where a crash leaves nothing of them. */
  listUnfinished?(before: number): AsyncIterable<Unfinished>;
}
