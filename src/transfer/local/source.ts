import { closeSync, createReadStream, fstatSync, openSync, readSync, realpathSync, statSync, type BigIntStats } from 'node:fs';
import type { ByteStream } from '../../api/message.ts';
import { describeSystemError, isSystemError, LocalError, UsageError } from '../../base/errors.ts';
import type { Engine, Ticket } from '../engine.ts';
import { isSameState, readState, type FileState } from './file-state.ts';
import { openToRead } from './named-pipe.ts';

/** A regular file as it was when it was looked at. */
export interface FileSource extends FileState {
  readonly kind: 'file';
  /** For messages: the path as the user gave it. */
  readonly label: string;
  readonly file: string;
  readonly mode: number;
  /** A log that is written to: the bytes that it had when it was looked at are meant, whatever comes after them. */
  readonly isGrowing?: boolean;
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
    const stats = statSync(file, { bigint: true });
    if (stats.isDirectory()) throw new UsageError(`${label} is a directory`, { hint: 'to put a tree: cloud stor put -r' });
    // Files below /proc and /sys say that they are empty, or of a page, and have what they have when they are read. No block of a disk is theirs.
    const isMade = stats.isFile() && stats.blocks === 0n && /^\/(proc|sys)\//.test(realpathSync.native(file));
    if (!stats.isFile() || isMade) return { kind: 'stream', label, open: () => openToRead(file, signal) };
    return { kind: 'file', label, file, ...readState(stats), mode: Number(stats.mode) & 0o777 };
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
  const hint = how === 'grew' ? 'to store what a growing file has now: --growing' : undefined;
  return new LocalError(`${label} ${how} while it was read: nothing was stored`, { hint });
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

/** Opens a file that was looked at. @throws {LocalError} when it is another one, or another version, by now */
export function openUnchanged(source: FileSource): number {
  const descriptor = openSync(source.file, 'r');
  try {
    assertUnchanged(descriptor, source);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Whether a file is the same one, with at least as many bytes. */
function isGrown(now: FileState, before: FileState): boolean {
  return now.dev === before.dev && now.ino === before.ino && now.size >= before.size;
}

/** @throws {LocalError} when an open file is not as it was when it was looked at */
export function assertUnchanged(descriptor: number, source: FileSource): void {
  const state = readState(fstatSync(descriptor, { bigint: true }));
  if (source.isGrowing === true && isGrown(state, source)) return;
  if (!isSameState(state, source)) throw changed(source.label, state.size > source.size ? 'grew' : 'was changed');
}

/** The bytes of an open file from `start` up to `end`; one byte beyond the file's end is asked for, to see whether it grew. */
export function readFilePart(descriptor: number, { file, size, isGrowing }: FileSource, start: number, end: number): ByteStream {
  const open = { fd: descriptor, autoClose: false, start };
  if (end <= start && start > 0) return createReadStream(file, { ...open, end: start });
  const last = end >= size && isGrowing !== true ? size : end - 1;
  return createReadStream(file, { ...open, end: last, highWaterMark: pieceSize });
}

/** Whether an open file was written to. What comes to its name changes the number of links and the ctime, not what is being read. */
function wasWritten(before: BigIntStats, now: BigIntStats): boolean {
  return before.mtimeNs !== now.mtimeNs || (before.nlink === now.nlink && before.ctimeNs !== now.ctimeNs);
}

/** The bytes that a growing file had when it was looked at. */
async function* readGrowing(source: FileSource): AsyncGenerator<Uint8Array> {
  const descriptor = openUnchanged(source);
  try {
    if (source.size > 0) yield* readFilePart(descriptor, source, 0, source.size) as AsyncIterable<Uint8Array>;
  } finally {
    closeSync(descriptor);
  }
}

/** The whole of a file. Its last bytes come only when nobody has written to it meanwhile: without them nothing is stored. */
export async function* readWholeFile(source: FileSource): AsyncGenerator<Uint8Array> {
  const { file, size, label, mtime } = source;
  if (source.isGrowing === true) {
    yield* readGrowing(source);
    return;
  }
  const fd = openSync(file, 'r');
  const before = fstatSync(fd, { bigint: true });
  // Another file came to this name since it was looked at: its time would be wrong in the headers.
  if (Number(before.size) === size && before.mtimeNs !== mtime) {
    closeSync(fd);
    throw changed(label, 'was changed');
  }
  let missing = size;
  for await (const piece of createReadStream(file, { fd, start: 0, end: size, highWaterMark: pieceSize })) {
    missing -= (piece as Uint8Array).length;
    const now = missing === 0 ? fstatSync(fd, { bigint: true }) : undefined;
    if (now && wasWritten(before, now)) throw changed(label, now.size > size ? 'grew' : 'was changed');
    yield piece as Uint8Array;
  }
}

/** The whole of a small file, read at once. @throws {LocalError} when it is not as it was when it was looked at */
export function readSmallFile({ file, size, label, mtime, isGrowing = false }: FileSource): Buffer {
  const descriptor = openSync(file, 'r');
  try {
    // One byte more shows whether the file grew.
    const content = Buffer.allocUnsafe(isGrowing ? size : size + 1);
    let length = 0;
    for (;;) {
      const count = length < content.length ? readSync(descriptor, content, length, content.length - length, length) : 0;
      length += count;
      if (length > size) throw changed(label, 'grew');
      if (count === 0) break;
    }
    if (length < size) throw changed(label, 'shrank');
    if (!isGrowing && fstatSync(descriptor, { bigint: true }).mtimeNs !== mtime) throw changed(label, 'was changed');
    return content.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}
