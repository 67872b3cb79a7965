import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  open,
  openSync,
  read,
  readSync,
  realpathSync,
  statSync,
  type BigIntStats,
} from 'node:fs';
import type { ByteStream } from '../../api/message.ts';
import { describeSystemError, isSystemError, LocalError, UsageError } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import type { Ticket } from '../../base/monitor.ts';
import { isSameState, readState, type FileState } from './file-state.ts';
import { openToRead } from './named-pipe.ts';

/** A regular file in the state that was recorded when it was opened as a source. */
export interface FileSource extends FileState {
  readonly kind: 'file';
  /** The path as the user typed it, for messages. */
  readonly label: string;
  readonly file: string;
  readonly mode: number;
  /** True for a file that grows, such as a log: the bytes up to the recorded size are read. */
  readonly isGrowing?: boolean;
}

/** Bytes that can be read only once: stdin, a pipe, a device. */
export interface StreamSource {
  readonly kind: 'stream';
  readonly label: string;
  readonly open: () => ByteStream;
}

export type Source = FileSource | StreamSource;

/** Bytes per read. */
const chunkSize = 256 * 1024;

/** Opens a local file for upload; the signal ends waiting for a pipe. @throws {UsageError} when it does not exist or is a directory */
export function openSource(label: string, file: string, signal?: AbortSignal): Source {
  try {
    const stats = statSync(file, { bigint: true });
    if (stats.isDirectory()) throw new UsageError(`${label} is a directory`, { hint: 'to upload a tree: cloud stor put -r' });
    // Files below /proc and /sys report a size of 0 or one page, and have no blocks; only reading shows their content.
    const isMade = stats.isFile() && stats.blocks === 0n && /^\/(proc|sys)\//.test(realpathSync.native(file));
    if (!stats.isFile() || isMade) return { kind: 'stream', label, open: () => openToRead(file, signal) };
    return { kind: 'file', label, file, ...readState(stats), mode: Number(stats.mode) & 0o777 };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new UsageError(describeSystemError(error), { cause: error });
  }
}

/** A body in transit: counted, hashed and throttled. */
export interface Watched {
  /** Reads the source from its start on each call. */
  readonly body: () => ByteStream;
  /** Size and MD5 (Base64) of what was read since the last call of `body`. */
  readonly seen: () => Promise<{ size: number; md5: string }>;
}

function changed(label: string, how: string): LocalError {
  const hint = how === 'grew' ? 'to store the current content of a growing file: cloud stor put --growing' : undefined;
  return new LocalError(`${label} ${how} while it was read: nothing was stored`, { hint });
}

/** Watches a source of `size` bytes. A source that is shorter or longer fails. */
export function watchBytes(
  open: () => ByteStream,
  { label, size }: { label: string; size: number | undefined },
  { throttle, hashing }: Pick<Engine, 'throttle' | 'hashing'>,
  ticket: Ticket | undefined,
): Watched {
  let seen = 0;
  let hasher = hashing.start(0);
  async function* read(): AsyncGenerator<Uint8Array> {
    // The bytes of an earlier attempt have to be sent again.
    ticket?.move(-seen);
    seen = 0;
    await hasher.drop();
    const own = hashing.start(size);
    hasher = own;
    try {
      for await (const chunk of open()) {
        seen += chunk.length;
        if (size !== undefined && seen > size) throw changed(label, 'grew');
        // Awaiting undefined would cost a microtask for every chunk.
        const waits = own.update(chunk);
        if (waits) await waits;
        if (throttle) await throttle(chunk.length);
        ticket?.move(chunk.length);
        yield chunk;
      }
      if (size !== undefined && seen < size) throw changed(label, 'shrank');
    } finally {
      // Nobody asks for the digest of a request that fails. One that is asked for nevertheless is that of the bytes up to here.
      void own.drop();
    }
  }
  return { body: read, seen: async () => ({ size: seen, md5: await hasher.digest() }) };
}

/**
 * Opens a file to read. The call never waits, as it would for the writer of a named pipe that has taken the place of the file.
 * @throws {LocalError} when it is no regular file any more
 */
function openFile({ file, label }: Pick<FileSource, 'file' | 'label'>): number {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw changed(label, 'was changed');
}

/** Opens a file again. @throws {LocalError} when it is another file or version by now */
export function openUnchanged(source: FileSource): number {
  const descriptor = openFile(source);
  try {
    assertUnchanged(descriptor, source);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** True if a file is the same one with at least as many bytes. */
function isGrown(now: FileState, before: FileState): boolean {
  return now.dev === before.dev && now.ino === before.ino && now.size >= before.size;
}

/** @throws {LocalError} when an open file has changed since its state was recorded */
export function assertUnchanged(descriptor: number, source: FileSource): void {
  const state = readState(fstatSync(descriptor, { bigint: true }));
  if (source.isGrowing === true && isGrown(state, source)) return;
  if (!isSameState(state, source)) throw changed(source.label, state.size > source.size ? 'grew' : 'was changed');
}

/** A stream that is destroyed would close its descriptor even without `autoClose`, and later whatever has got the same number. */
const leavingOpen = { open, read, close: (_: number, done?: (error?: Error | null) => void) => done?.() };

/** Reads an open file from `start` up to `end`, and leaves it open. At the end of the file, one byte more is requested, to see whether the file grew. */
export function readFilePart(descriptor: number, { file, size, isGrowing }: FileSource, start: number, end: number): ByteStream {
  const place = { fd: descriptor, autoClose: false, fs: leavingOpen, start };
  if (end <= start && start > 0) return createReadStream(file, { ...place, end: start });
  const last = end >= size && isGrowing !== true ? size : end - 1;
  return createReadStream(file, { ...place, end: last, highWaterMark: chunkSize });
}

/** True if an open file was written to. A file renamed over it changes its number of links and ctime, but not the content being read. */
function wasWritten(before: BigIntStats, now: BigIntStats): boolean {
  return before.mtimeNs !== now.mtimeNs || (before.nlink === now.nlink && before.ctimeNs !== now.ctimeNs);
}

/** Reads the bytes that a growing file had when its state was recorded. */
async function* readGrowing(source: FileSource): AsyncGenerator<Uint8Array> {
  const descriptor = openUnchanged(source);
  try {
    if (source.size > 0) yield* readFilePart(descriptor, source, 0, source.size) as AsyncIterable<Uint8Array>;
  } finally {
    closeSync(descriptor);
  }
}

/** Reads a whole file. The last bytes are only yielded if nobody has written to the file meanwhile: without them nothing is stored. */
export async function* readWholeFile(source: FileSource): AsyncGenerator<Uint8Array> {
  const { file, size, label, mtime } = source;
  if (source.isGrowing === true) {
    yield* readGrowing(source);
    return;
  }
  const fd = openFile(source);
  const before = fstatSync(fd, { bigint: true });
  // Another file has taken this name: the time in the headers would be wrong.
  if (Number(before.size) === size && before.mtimeNs !== mtime) {
    closeSync(fd);
    throw changed(label, 'was changed');
  }
  let missing = size;
  for await (const chunk of createReadStream(file, { fd, start: 0, end: size, highWaterMark: chunkSize })) {
    missing -= (chunk as Uint8Array).length;
    const now = missing === 0 ? fstatSync(fd, { bigint: true }) : undefined;
    if (now && wasWritten(before, now)) throw changed(label, now.size > size ? 'grew' : 'was changed');
    yield chunk as Uint8Array;
  }
}

/** Reads a whole small file synchronously. @throws {LocalError} when it has changed since its state was recorded */
export function readSmallFile(source: FileSource): Buffer {
  const { size, label, mtime, isGrowing = false } = source;
  const descriptor = openFile(source);
  try {
    // One more byte shows whether the file grew.
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
