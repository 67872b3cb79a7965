import { createHash, randomUUID, type Hash } from 'node:crypto';
import { closeSync, createReadStream, fdatasync, fstatSync, linkSync, openSync, readSync, renameSync, writeFileSync } from 'node:fs';
import { mkdir, open, opendir, rm, stat, statfs, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { streamOf, type Body, type ByteStream } from '../../api/message.ts';
import { ignoreNoEntry, isSystemError } from '../../base/errors.ts';
import type { ByteStore, StoredBytes, Unfinished } from './bytes.ts';
import { compress, inflateRange, isCompressed, markCompressed } from './compressed-bytes.ts';
import { DamagedContent } from './damaged.ts';
import { createDirectorySync } from './directory-sync.ts';
import { keepInline, readInline } from './inline-bytes.ts';
import { isRow } from './row-bytes.ts';
import { beginDigest, type RunningDigest } from './running-digest.ts';

/** Large chunks: most of the cost of a download is per chunk, not per byte. */
const chunkSize = 256 * 1024;

/** Maximum bytes that are read synchronously: handing the read to a thread takes much longer than the read itself. */
const smallSize = 64 * 1024;

/** Number of contents written to a folder before the next folder is used. */
const contentsPerFolder = 64;

/** Name of the folder in which contents are written. */
const temporaryName = 'tmp';

const flush = promisify(fdatasync);

async function fill(handle: FileHandle, body: ByteStream, hash: Hash): Promise<number> {
  let size = 0;
  for await (const chunk of body) {
    const writing = handle.appendFile(chunk);
    // Hashes on this thread while another thread writes.
    hash.update(chunk);
    await writing;
    size += chunk.length;
  }
  return size;
}

/** Writes and flushes a new file. Everything but the flush is synchronous: it costs less than handing it to another thread. */
async function writeSmall(file: string, bytes: Uint8Array): Promise<Omit<StoredBytes, 'id'>> {
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    writeFileSync(descriptor, bytes);
    await flush(descriptor);
  } finally {
    closeSync(descriptor);
  }
  return { size: bytes.length, md5: createHash('md5').update(bytes).digest('base64') };
}

/** True if a file was written before a time. False for a file that no longer exists. */
async function isOlder(file: string, before: number): Promise<boolean> {
  const stats = await stat(file).catch(ignoreNoEntry);
  return stats !== undefined && stats.mtimeMs < before;
}

async function removeIfThere(file: string): Promise<void> {
  await unlink(file).catch(ignoreNoEntry);
}

function describeShort(size: number, end: number): Error {
  return new DamagedContent(`has only ${size} of ${end} bytes`);
}

/** Closes the file and throws if it is shorter than `end`. */
function assertLength(fd: number, end: number): void {
  const { size } = fstatSync(fd);
  if (size >= end) return;
  closeSync(fd);
  throw describeShort(size, end);
}

/** Reads from a file, then closes it. @throws when the file is shorter */
function readAt(fd: number, start: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  try {
    for (let at = 0; at < length;) {
      const read = readSync(fd, bytes, at, length - at, start + at);
      if (read === 0) throw describeShort(fstatSync(fd).size, start + length);
      at += read;
    }
    return bytes;
  } finally {
    closeSync(fd);
  }
}

async function writeTemporary(file: string, body: Body): Promise<Omit<StoredBytes, 'id'>> {
  if (body instanceof Uint8Array && body.length <= chunkSize) return writeSmall(file, body);
  const hash = createHash('md5');
  const handle = await open(file, 'wx', 0o600);
  try {
    const size = await fill(handle, body instanceof Uint8Array ? streamOf(body) : body, hash);
    // Not the method of the handle: handles of Yarn Plug'n'Play lack it.
    await flush(handle.fd);
    return { size, md5: hash.digest('base64') };
  } finally {
    await handle.close();
  }
}

async function writeDeflated(file: string, body: Body): Promise<Omit<StoredBytes, 'id'>> {
  const hash = createHash('md5');
  const { stream, measure } = compress(body, hash);
  await writeTemporary(file, stream);
  return { size: measure(), md5: hash.digest('base64') };
}

/** Returns a function that creates each folder once. @param sync flushes the parent folder */
function createFolderMaker(sync: () => Promise<void>): (folder: string) => Promise<void> {
  const folders = new Map<string, Promise<void>>();
  async function make(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await sync();
  }
  return (folder) => {
    const known = folders.get(folder) ?? make(folder);
    folders.set(folder, known);
    known.catch(() => folders.delete(folder));
    return known;
  };
}

/** Removes files; while removals are held, remembers the files to remove later. */
function createRemover(fileOf: (id: string) => string): Pick<FileBytes, 'remove' | 'holdRemovals'> {
  const waiting = new Set<string>();
  let holds = 0;
  return {
    async remove(id) {
      if (readInline(id) !== undefined || isRow(id)) return;
      if (holds > 0) waiting.add(id);
      else await removeIfThere(fileOf(id));
    },
    holdRemovals: () => {
      holds += 1;
      return async () => {
        holds -= 1;
        if (holds > 0) return;
        const ids = [...waiting];
        waiting.clear();
        for (const id of ids) await removeIfThere(fileOf(id));
      };
    },
  };
}

/** Contents in files of this machine. */
export interface FileBytes extends ByteStore {
  /** Begins an MD5 over several contents in order. */
  digest(): RunningDigest;
  /** Keeps every existing content until the returned function is called, once; that function removes what was to be removed meanwhile. */
  holdRemovals(): () => Promise<void>;
}

/** Files below a shared directory to which no process has written since a time: whoever was writing them has ended. */
export async function* listAbandoned(dir: string, before: number): AsyncGenerator<Unfinished> {
  const folder = join(dir, temporaryName);
  for await (const { name: id } of await opendir(folder)) {
    const file = join(folder, id);
    if (await isOlder(file, before)) yield { id, abort: () => removeIfThere(file) };
  }
}

/** Ids of the contents in files below a folder, or of those written before a time. */
export async function* listFiles(root: string, before = Infinity): AsyncGenerator<string> {
  for await (const folder of await opendir(root)) {
    for await (const file of await opendir(join(root, folder.name))) {
      if (before === Infinity || (await isOlder(join(root, folder.name, file.name), before))) yield file.name;
    }
  }
}

/**
 * Contents as files `dir/bytes/ab/<id>`, where `ab` is the start of the id. They are written under `dir/tmp`, flushed and renamed, so that
 * a file under its final name is always complete. Files that a crash left in `dir/tmp` are removed immediately or, if several processes
 * share the directory, by a collector.
 */
export async function openFileBytes(dir: string, { isShared = false } = {}): Promise<FileBytes> {
  const root = join(dir, 'bytes');
  const temporary = join(dir, temporaryName);
  if (!isShared) await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  await mkdir(root, { recursive: true, mode: 0o700 });
  const syncDirectory = createDirectorySync();
  const ensureFolder = createFolderMaker(() => syncDirectory(root));
  let written = Math.floor(Math.random() * 256) * contentsPerFolder;
  const folderOf = (id: string): string => join(root, id.slice(0, 2));
  const fileOf = (id: string): string => join(folderOf(id), id);

  /** Creates an id. Consecutive contents go into the same folder, so that they can share its flush. */
  function createId(): string {
    written += 1;
    const folder = Math.floor(written / contentsPerFolder) % 256;
    return folder.toString(16).padStart(2, '0') + randomUUID().slice(2);
  }

  async function write(body: Body, id = createId()): Promise<StoredBytes> {
    const file = join(temporary, id);
    try {
      const stored = await (isCompressed(id) ? writeDeflated(file, body) : writeTemporary(file, body));
      await ensureFolder(folderOf(id));
      renameSync(file, fileOf(id));
      await syncDirectory(folderOf(id));
      return { id, ...stored };
    } catch (error) {
      await removeIfThere(file);
      throw error;
    }
  }

  return {
    measureFree: async () => {
      const { bavail, bsize } = await statfs(root);
      return bavail * bsize;
    },

    write: (body) => write(body),

    writeCompressed: (body) => write(body, markCompressed(createId())),

    keep: async (bytes) => keepInline(bytes) ?? write(bytes),

    async read(id, start, end) {
      if (end <= start) return streamOf();
      const inline = readInline(id);
      if (inline) return streamOf(inline.subarray(start, end));
      // Opened now, not at the first read: a later removal of the content cannot disturb this reader.
      const fd = openSync(fileOf(id), 'r');
      if (isCompressed(id)) return inflateRange(createReadStream('', { fd }), start, end);
      if (end - start <= smallSize) return streamOf(readAt(fd, start, end - start));
      assertLength(fd, end);
      return createReadStream('', { fd, start, end: end - 1, highWaterMark: chunkSize });
    },

    digest: () => {
      const digest = beginDigest();
      return { ...digest, add: (id) => digest.add(readInline(id) ?? fileOf(id)) };
    },

    async place(id, file) {
      if (isCompressed(id) || isRow(id)) return false;
      const inline = readInline(id);
      try {
        if (inline) writeFileSync(file, inline, { mode: 0o600 });
        else linkSync(fileOf(id), file);
        return true;
      } catch (error) {
        if (!isSystemError(error)) throw error;
        return false;
      }
    },

    ...createRemover(fileOf),

    list: (before) => listFiles(root, before),
  };
}
