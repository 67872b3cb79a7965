import type { Body, ByteStream } from '../../api/message.ts';
import type { RunningDigest } from './running-digest.ts';

/** Bytes that were stored. */
export interface StoredBytes {
  id: string;
  size: number;
  /** MD5, Base64. */
  md5: string;
}

/**
 * Where contents are kept: write a stream, read a range, remove, list. Contents never change once written, so readers,
 * links and overwriting never disturb each other.
 */
export interface ByteStore {
  /** Resolves when the bytes are on disk under their id; nothing is kept when the stream fails. */
  write(body: Body): Promise<StoredBytes>;
  /** The same for bytes that are at hand; few are on disk only with the row that names their id. */
  keep(bytes: Uint8Array): Promise<StoredBytes>;
  /** The same for bytes that repeat themselves: they take less room, and every reader reads from the beginning. */
  writeCompressed(body: Body): Promise<StoredBytes>;
  /** Bytes from `start` up to, not including, `end`. Opened at once: a later `remove` does not disturb the reader. */
  read(id: string, start: number, end: number): ByteStream;
  /** Whether `link` can do without copying. */
  canLink(id: string): boolean;
  /** Puts the bytes at `file`, without copying them where the disk is the same; they must only be read there. */
  link(id: string, file: string): void;
  /** Begins the MD5 of contents one after the other. */
  digest(): RunningDigest;
  /** Bytes that the disk has room for. */
  measureFree(): Promise<number>;
  remove(id: string): Promise<void>;
  /** Ids of all contents, or of those written before a time (milliseconds since the epoch). */
  list(before?: number): AsyncIterable<string>;
}
