import { closeSync, constants, createReadStream, lstatSync, openSync, readSync, rmSync } from 'node:fs';
import { copyFile, open } from 'node:fs/promises';
import { isSystemError, LocalError } from '../../base/errors.ts';
import { lacks } from '../abilities.ts';
import type { Opened } from './download.ts';
import type { Engine } from '../engine.ts';
import { writeChunks, writeSize } from '../local/file-writer.ts';
import { hashFile } from '../local/walk.ts';
import { claim, createOwn, findLeft, hasUnfinished, sizeOfOwn, type Replaced } from '../local/partial-file.ts';
import { printRemotePath, type RemotePath } from '../path.ts';

/** How an object is written to a file of which a beginning may exist. */
export interface Continuation {
  /** Use the content of the existing file as the beginning of the object. */
  readonly continues?: boolean;
  /** Fetch the whole object: a previous attempt could not resume. */
  readonly fromStart?: boolean;
  /** Write blocks of zeros as holes. */
  readonly sparse?: boolean;
  /** What may exist under the file's name when the download replaces it; anything when absent. */
  readonly replaces?: Replaced | undefined;
}

/** Copies the first bytes of a file to a new one, as a reflink where the file system supports it. */
async function copyBeginning(file: string, end: number, copy: string, { signal }: Engine, sparse: boolean): Promise<void> {
  // In a directory where temporary files cannot be removed, this fails before any byte is copied.
  closeSync(createOwn(copy));
  rmSync(copy);
  try {
    await copyFile(file, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
  } catch (error) {
    if (!isSystemError(error) || error.code === 'ENOENT' || error.code === 'EACCES') throw error;
    rmSync(copy, { force: true });
    const handle = await open(copy, 'wx', lstatSync(file).mode & 0o777);
    try {
      await writeChunks(createReadStream(file, { end: end - 1, highWaterMark: writeSize, signal }), handle, 0, { sparse });
      await handle.truncate(end);
    } finally {
      await handle.close();
    }
  }
}

/** The part of an object that a local file already has. */
export interface Beginning {
  /** Bytes that exist; the rest is fetched. */
  readonly length: number;
  /** Bytes after `length` that the object must have too. */
  readonly expected?: Uint8Array;
  /** True for a copy of the file to be continued; the MD5 of the whole object verifies it. */
  readonly isOwn?: boolean;
  /** True if the directory has other unfinished files; those of other versions are useless once this file is complete. */
  readonly hasOthers?: boolean;
}

/** Bytes at the end of a continued file that are fetched again and compared, so that a wrong file is detected immediately. */
const overlapBytes = 64 * 1024;

/** The size in bytes of a file to be continued; 0 without one. Anything but a regular file is replaced completely. */
export function sizeToContinue({ continues, replaces }: Continuation): number {
  return continues === true && typeof replaces === 'object' ? replaces.size : 0;
}

/** The bytes of a file from `start` to its end. */
function readEnd(file: string, start: number): Uint8Array {
  const descriptor = openSync(file, 'r');
  try {
    const content = Buffer.alloc(overlapBytes);
    return content.subarray(0, readSync(descriptor, content, 0, overlapBytes, start));
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Prepares `unfinished` with what exists of the object: left by an interrupted run or, with `continues`, a copy of the file, which itself
 * stays unchanged.
 */
export async function takeBeginning(
  engine: Engine,
  opened: Opened,
  file: string,
  unfinished: string,
  options: Continuation,
): Promise<Beginning> {
  const { etag, size, md5 } = opened;
  if (etag === undefined || size === undefined || lacks(engine.storage, 'ranges')) return { length: 0 };
  const [longest, ...others] = findLeft(file, etag, engine.processes);
  const left = longest === undefined ? 0 : sizeOfOwn(longest);
  // Without an MD5 of the whole object nothing could verify the beginning.
  const own = md5 === undefined || options.fromStart === true ? 0 : sizeToContinue(options);
  if (own > left && own <= size) {
    await copyBeginning(file, own, unfinished, engine, options.sparse === true);
    for (const useless of longest === undefined ? [] : [longest, ...others]) rmSync(useless, { force: true });
    const length = Math.max(0, own - overlapBytes);
    return { length, expected: readEnd(unfinished, length), isOwn: true };
  }
  if (longest === undefined || !claim(longest, unfinished)) return { length: 0, hasOthers: hasUnfinished(file) };
  for (const useless of others) rmSync(useless, { force: true });
  const length = sizeOfOwn(unfinished);
  return { length: length <= size ? length : 0, hasOthers: true };
}

function createUnlikeError(file: string, path: RemotePath): LocalError {
  return new LocalError(`${file} is not the beginning of ${printRemotePath(path)}: left alone`, {
    hint: 'without --continue the file is replaced',
  });
}

/** Passes through the bytes of an object. @throws {LocalError} unless they begin with the expected bytes */
export async function* compareBeginning(
  chunks: AsyncIterable<Uint8Array>,
  expected: Uint8Array,
  file: string,
  { path }: Opened,
): AsyncGenerator<Uint8Array> {
  let compared = 0;
  for await (const chunk of chunks) {
    const wanted = expected.subarray(compared, compared + chunk.length);
    if (Buffer.compare(wanted, chunk.subarray(0, wanted.length)) !== 0) throw createUnlikeError(file, path);
    compared += wanted.length;
    yield chunk;
  }
}

/** @throws {LocalError} unless the file to be continued is the beginning of the object, which has been fetched completely */
export async function assertBeginning(
  { signal }: Pick<Engine, 'signal'>,
  file: string,
  whole: string,
  { path }: Opened,
  options: Continuation,
): Promise<void> {
  const own = sizeToContinue(options);
  if (own > 0 && (await hashFile(file, signal, 0, own)) !== (await hashFile(whole, signal, 0, own))) throw createUnlikeError(file, path);
}

/** True if the file to be continued is the whole object. @throws {LocalError} when the file is longer, or as long with another content */
export async function isWholeAlready(
  { signal }: Pick<Engine, 'signal'>,
  { size, md5, path }: Opened,
  file: string,
  options: Continuation,
): Promise<boolean> {
  const own = sizeToContinue(options);
  if (size === undefined || own < size || own === 0) return false;
  if (own > size) {
    throw new LocalError(`${file} has ${own} bytes, ${printRemotePath(path)} only ${size}: left alone`, {
      hint: 'without --continue the file is replaced',
    });
  }
  if (md5 === undefined) return false;
  if ((await hashFile(file, signal)) === md5) return true;
  throw createUnlikeError(file, path);
}
