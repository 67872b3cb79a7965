import { closeSync, fstatSync, lstatSync, openSync, readlinkSync, realpathSync, statSync, write, constants } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { pause } from '../../client/retry.ts';
import { checkInterrupted, ClosedPipe, isSystemError, LocalError } from '../../base/errors.ts';
import { isNamedPipe, openToWrite, writePipe } from './named-pipe.ts';

/** Where bytes go that are written to a path. A stream takes them as they come; only a file can be replaced by a whole one. */
export type WriteTarget =
  | {
      readonly kind: 'file';
      /** Path without symbolic links; there may be nothing yet. */
      readonly file: string;
    }
  | {
      readonly kind: 'stream';
      readonly file: string;
      /** Open descriptor of this process behind the path (`/dev/fd/3`). */
      readonly descriptor?: number;
      /** What another process has open is only added to. */
      readonly appends: boolean;
    };

/** Symbolic links followed before they are taken for a loop, as Linux does. */
const mostLinks = 40;

/** Milliseconds until a descriptor that takes nothing now is tried again. */
const betweenTries = 5;

/** The system's error about a path that the user knows. */
function failWith(code: string, file: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${file}`), { code, path: file, syscall: 'open' });
}

function findFolder(file: string): string {
  const folder = dirname(file);
  try {
    // The system refuses here what realpath would follow: links of others in directories that all can write to.
    statSync(folder);
    return realpathSync(folder);
  } catch (error) {
    if (isSystemError(error)) error.path = file;
    throw error;
  }
}

/** @throws {LocalError} for a planted link, which the system does not follow either where `protected_symlinks` is on */
function checkOwner(link: string, folder: string): void {
  if (process.geteuid === undefined) return;
  const [{ uid }, above] = [lstatSync(link), statSync(folder)];
  const isShared = (above.mode & 0o1002) === 0o1002;
  if (!isShared || uid === process.geteuid() || uid === above.uid) return;
  throw new LocalError(`${link} is a link of another user in a directory that all can write to: not followed`);
}

/** The stream that an entry of these directories of the system is, whatever kind of file it leads to. */
function findStream(folder: string, file: string): WriteTarget | undefined {
  const [, pid] = /^\/proc\/(\d+)\/(?:task\/\d+\/)?fd$/.exec(folder) ?? [];
  const isOwn = pid === undefined ? folder === '/dev/fd' : pid === basename(realpathSync('/proc/self'));
  const name = basename(file);
  if (isOwn && /^\d+$/.test(name)) return { kind: 'stream', file, descriptor: Number(name), appends: false };
  if (pid !== undefined) return { kind: 'stream', file, appends: true };
  return undefined;
}

/** Whether a directory holds what is not stored: nothing is made or replaced in it. */
function isOfSystem(folder: string): boolean {
  return folder === '/dev' || /^\/(proc|sys)(\/|$)/.test(folder);
}

/**
 * Follows the symbolic links of a path to where its bytes go.
 * @throws the system's error for a loop or a directory that is missing, {LocalError} for a planted link
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

/** @throws {LocalError} where a file of a tree would take the place of something else, or lead out of the tree */
export function checkPlace(file: string, stats = lstatSync(file, { throwIfNoEntry: false })): void {
  if (stats === undefined || stats.isFile() || stats.isDirectory()) return;
  const kind = stats.isSymbolicLink() ? 'a link' : 'not a regular file';
  throw new LocalError(`${file} is ${kind}: left as it is`, { hint: 'remove it, or name it as the target of one object' });
}

const writeOnce = promisify(write);

/** Writes where the descriptor stands: whoever shares it goes on after what was written. */
async function writeDescriptor(pieces: AsyncIterable<Uint8Array>, descriptor: number, signal: AbortSignal | undefined): Promise<void> {
  for await (const piece of pieces) {
    for (let rest = piece; rest.length > 0;) {
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

/** Writes all pieces to a stream, no faster than it takes them. @throws {ClosedPipe} when nobody reads any more */
export async function writeStream(
  target: Extract<WriteTarget, { kind: 'stream' }>,
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { file, descriptor, appends } = target;
  try {
    // Opened anew, a pipe can be waited for without a thread that nothing ends.
    if (isNamedPipe(file)) return await writePipe(pieces, await openToWrite(file, signal));
    if (descriptor !== undefined) {
      fstatSync(descriptor);
      return await writeDescriptor(pieces, descriptor, signal);
    }
    const opened = openSync(file, constants.O_WRONLY | constants.O_NOCTTY | (appends ? constants.O_APPEND : 0));
    try {
      await writeDescriptor(pieces, opened, signal);
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    if (isSystemError(error) && error.code === 'EPIPE') throw new ClosedPipe('the pipe is closed', { cause: error });
    if (isSystemError(error) && error.syscall !== 'read') error.path ??= file;
    throw error;
  }
}
