import { closeSync, createReadStream, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { ByteStream } from '../api/message.ts';
import { describeSystemError, isSystemError, LocalError, UsageError } from '../errors.ts';
import type { Engine, Ticket } from './engine.ts';
import { openToRead } from './named-pipe.ts';

/** A regular file as it was when it was looked at. */
export interface FileSource {
  readonly kind: 'file';
  /** For messages: the path as the user gave it. */
  readonly label: string;
  readonly file: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly mtime: number;
  readonly mode: number;
}

/** Bytes that come once: stdin, a pipe, a device. */
export interface StreamSource {
  readonly kind: 'stream';
  readonly label: string;
  readonly open: () => ByteStream;
}

export type Source = FileSource | StreamSource;

/** Bytes read from a file at once. */
const pieceSize = 256 * 1024;

/** A local file to be uploaded; waiting for more of a pipe ends with the signal. @throws {UsageError} when there is none, or it is a directory */
export function openSource(label: string, file: string, signal?: AbortSignal): Source {
  try {
    const stats = statSync(file);
    if (stats.isDirectory()) throw new UsageError(`${label} is a directory`, { hint: 'to put a tree: cloud stor put -r' });
    if (!stats.isFile()) return { kind: 'stream', label, open: () => openToRead(file, signal) };
    return { kind: 'file', label, file, size: stats.size, mtime: stats.mtimeMs, mode: stats.mode & 0o777 };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new UsageError(describeSystemError(error), { cause: error });
  }
}

/** Bytes on their way, counted, hashed and held back by the throttle. */
export interface Watched {
  /** Begins anew each time it is called. */
  readonly body: () => ByteStream;
  /** What went through since the last beginning; MD5 in Base64. */
  readonly seen: () => Promise<{ size: number; md5: string }>;
}

function changed(label: string, how: string): LocalError {
  return new LocalError(`${label} ${how} while it was read: nothing was stored`);
}

/** Watches bytes of which `size` are expected. A source that is shorter or longer fails. */
export function watchBytes(
  open: () => ByteStream,
  { label, size }: { label: string; size: number | undefined },
  { throttle, hashing }: Pick<Engine, 'throttle' | 'hashing'>,
  ticket: Ticket | undefined,
): Watched {
  let seen = 0;
  let hasher = hashing.start(0);
  async function* read(): AsyncGenerator<Uint8Array> {
    // What an earlier try had sent has to go again.
    ticket?.move(-seen);
    seen = 0;
    await hasher.drop();
    const own = hashing.start(size);
    hasher = own;
    for await (const piece of open()) {
      seen += piece.length;
      if (size !== undefined && seen > size) throw changed(label, 'grew');
      // Awaiting nothing costs a turn for every piece.
      const waits = own.update(piece);
      if (waits) await waits;
      if (throttle) await throttle(piece.length);
      ticket?.move(piece.length);
      yield piece;
    }
    if (size !== undefined && seen < size) throw changed(label, 'shrank');
  }
  return { body: read, seen: async () => ({ size: seen, md5: await hasher.digest() }) };
}

/** The bytes of a file from `start` up to `end`; one byte beyond the file's end is asked for, to see whether it grew. */
export function readFilePart({ file, size }: FileSource, start: number, end: number): ByteStream {
  if (end <= start && start > 0) return createReadStream(file, { start, end: start });
  const last = end >= size ? size : end - 1;
  return createReadStream(file, { start, end: last, highWaterMark: pieceSize });
}

/** The whole of a file. Its last bytes come only when nobody has written to it meanwhile: without them nothing is stored. */
export async function* readWholeFile({ file, size, label }: FileSource): AsyncGenerator<Uint8Array> {
  // What comes to its place under its name does not change what is being read.
  const fd = openSync(file, 'r');
  const { mtimeMs } = fstatSync(fd);
  let missing = size;
  for await (const piece of createReadStream(file, { fd, start: 0, end: size, highWaterMark: pieceSize })) {
    missing -= (piece as Uint8Array).length;
    const now = missing === 0 ? fstatSync(fd) : undefined;
    if (now && now.mtimeMs !== mtimeMs) throw changed(label, now.size > size ? 'grew' : 'was changed');
    yield piece as Uint8Array;
  }
}

/** The whole of a small file, read at once. @throws {LocalError} when it is not as large as it was */
export function readSmallFile({ file, size, label }: FileSource): Buffer {
  const descriptor = openSync(file, 'r');
  try {
    const content = Buffer.allocUnsafe(size + 1);
    let length = 0;
    for (;;) {
      const count = readSync(descriptor, content, length, content.length - length, length);
      length += count;
      if (length > size) throw changed(label, 'grew');
      if (count === 0) break;
    }
    if (length < size) throw changed(label, 'shrank');
    return content.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}

/** @throws {LocalError} when a file is not as it was when reading began */
export function checkUnchanged({ file, label, size, mtime }: FileSource): void {
  const stats = statSync(file);
  if (stats.size !== size || stats.mtimeMs !== mtime) throw changed(label, 'was changed');
}
