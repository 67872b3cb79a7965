import { closeSync, fstatSync, lstatSync, openSync, readlinkSync, realpathSync, statSync, write, constants } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { pause } from '../../client/retry.ts';
import { checkInterrupted, ClosedPipe, isSystemError, LocalError } from '../../base/errors.ts';
import { isNamedPipe, openToWrite, writePipe } from './named-pipe.ts';

/** The target of a write to a path. A stream is written as bytes arrive; only a file can be replaced atomically. */
export type WriteTarget =
  | {
      readonly kind: 'file';
      /** Path without symbolic links; the file may not exist yet. */
      readonly file: string;
    }
  | {
      readonly kind: 'stream';
      readonly file: string;
      /** The open descriptor of this process that the path names (`/dev/fd/3`). */
      readonly descriptor?: number;
      /** True for a descriptor of another process, which is only appended to. */
      readonly appends: boolean;
    };

/** Maximum number of symbolic links followed before ELOOP, as on Linux. */
const mostLinks = 40;

/** Milliseconds before a write that failed with EAGAIN is retried. */
const betweenTries = 5;

/** A system error with the path that the user typed. */
function failWith(code: string, file: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${file}`), { code, path: file, syscall: 'open' });
}

function findFolder(file: string): string {
  const folder = dirname(file);
  try {
    // `stat` fails where `realpath` would follow: for links of others in directories that everybody can write to.
    statSync(folder);
    return realpathSync(folder);
  } catch (error) {
    if (isSystemError(error)) error.path = file;
    throw error;
  }
}

/** @throws {LocalError} for a planted link, which the system does not follow either if `protected_symlinks` is enabled */
function checkOwner(link: string, folder: string): void {
  if (process.geteuid === undefined) return;
  const [{ uid }, above] = [lstatSync(link), statSync(folder)];
  const isShared = (above.mode & 0o1002) === 0o1002;
  if (!isShared || uid === process.geteuid() || uid === above.uid) return;
  throw new LocalError(`${link} is a symbolic link of another user in a world-writable directory: not followed`);
}

/** The stream that an entry of `/dev/fd` or `/proc/PID/fd` names, whatever kind of file it is. */
function findStream(folder: string, file: string): WriteTarget | undefined {
  const [, pid] = /^\/proc\/(\d+)\/(?:task\/\d+\/)?fd$/.exec(folder) ?? [];
  const isOwn = pid === undefined ? folder === '/dev/fd' : pid === basename(realpathSync('/proc/self'));
  const name = basename(file);
  if (isOwn && /^\d+$/.test(name)) return { kind: 'stream', file, descriptor: Number(name), appends: false };
  if (pid !== undefined) return { kind: 'stream', file, appends: true };
  return undefined;
}

/** True for a directory of the system without stored files: nothing is created or replaced in it. */
function isOfSystem(folder: string): boolean {
  return folder === '/dev' || /^\/(proc|sys)(\/|$)/.test(folder);
}

/**
 * Follows the symbolic links of a path to the target of a write.
 * @throws the system's error for a loop or a missing directory, {LocalError} for a planted link
 */
export function findWriteTarget(path: string): WriteTarget {
  let file = path;
  for (let links = 0; links <= mostLinks; links += 1) {
    const folder = findFolder(file);
    const stream = findStream(folder, file);
    if (stream) return stream;
    const real = join(folder, basename(file));
    const stats = lstatSync(real, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() !== true) {
      const isStored = !isOfSystem(folder) && (stats === undefined || stats.isFile() || stats.isDirectory());
      return isStored ? { kind: 'file', file: real } : { kind: 'stream', file: real, appends: false };
    }
    checkOwner(real, folder);
    file = resolve(folder, readlinkSync(real));
  }
  throw failWith('ELOOP', path);
}

/** @throws {LocalError} where a file of a tree would replace anything but a regular file, or lead out of the tree */
export function checkPlace(file: string, stats = lstatSync(file, { throwIfNoEntry: false })): void {
  if (stats === undefined || stats.isFile() || stats.isDirectory()) return;
  const kind = stats.isSymbolicLink() ? 'a symbolic link' : 'not a regular file';
  throw new LocalError(`${file} is ${kind}: not replaced`, { hint: 'delete it, or give it as the target of a single object' });
}

const writeOnce = promisify(write);

/** Writes at the current position of the descriptor, so that others that share it continue after these bytes. */
async function writeDescriptor(chunks: AsyncIterable<Uint8Array>, descriptor: number, signal: AbortSignal | undefined): Promise<void> {
  for await (const chunk of chunks) {
    for (let rest = chunk; rest.length > 0;) {
      try {
        const { bytesWritten } = await writeOnce(descriptor, rest, 0, rest.length, null);
        rest = rest.subarray(bytesWritten);
      } catch (error) {
        if (!isSystemError(error) || error.code !== 'EAGAIN') throw error;
        await pause(betweenTries, signal);
        checkInterrupted(signal);
      }
    }
  }
}

/** Writes all chunks to a stream with back-pressure. @throws {ClosedPipe} when nobody reads any more */
export async function writeStream(
  target: Extract<WriteTarget, { kind: 'stream' }>,
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { file, descriptor, appends } = target;
  try {
    // A pipe that is opened anew can be waited for without a blocked thread that nothing ends.
    if (isNamedPipe(file)) return await writePipe(chunks, await openToWrite(file, signal));
    if (descriptor !== undefined) {
      fstatSync(descriptor);
      return await writeDescriptor(chunks, descriptor, signal);
    }
    const opened = openSync(file, constants.O_WRONLY | constants.O_NOCTTY | (appends ? constants.O_APPEND : 0));
    try {
      await writeDescriptor(chunks, opened, signal);
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    if (isSystemError(error) && error.code === 'EPIPE') throw new ClosedPipe('the pipe is closed', { cause: error });
    if (isSystemError(error) && error.syscall !== 'read') error.path ??= file;
    throw error;
  }
}
