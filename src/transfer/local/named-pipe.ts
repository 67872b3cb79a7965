import { constants, createReadStream, openSync, statSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { checkInterrupted, ClosedPipe, InterruptedError, isSystemError } from '../../base/errors.ts';
import { pause } from '../../client/retry.ts';

/**
 * Opening a named pipe waits until somebody opens its other end, in a thread that nothing can end, not even the end of the
 * program. Here the pipe is opened without waiting, and what waits is the loop of events, which Ctrl-C ends.
 */

/** Milliseconds between two looks whether somebody reads from a pipe. */
const betweenLooks = 50;

/** Bytes that are read at once from what is no pipe. */
const pieceSize = 256 * 1024;

/** Whether a path is that of a named pipe. */
export function isNamedPipe(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFIFO() === true;
}

function watchInterruption(stream: Readable, signal: AbortSignal | undefined): void {
  const stop = (): void => void stream.destroy(new InterruptedError('interrupted'));
  signal?.addEventListener('abort', stop, { once: true });
  stream.once('close', () => signal?.removeEventListener('abort', stop));
  if (signal?.aborted === true) stop();
}

/** The bytes of a file, a device or a named pipe, whose writer may come later. */
export function openToRead(file: string, signal: AbortSignal | undefined): Readable {
  if (!isNamedPipe(file)) return createReadStream(file, { highWaterMark: pieceSize });
  const socket = openSocket(openSync(file, constants.O_RDONLY | constants.O_NONBLOCK), { readable: true });
  watchInterruption(socket, signal);
  return socket;
}

/** Opens a named pipe for writing as soon as somebody reads from it. @throws {InterruptedError} when the user does not want to wait any longer */
export async function openToWrite(file: string, signal: AbortSignal | undefined): Promise<Socket> {
  for (;;) {
    try {
      return openSocket(openSync(file, constants.O_WRONLY | constants.O_NONBLOCK), { writable: true });
    } catch (error) {
      if (!isSystemError(error) || error.code !== 'ENXIO') throw error;
    }
    await pause(betweenLooks, signal);
    checkInterrupted(signal);
  }
}

/** Writes all that comes, no faster than it is read. @throws {ClosedPipe} when the reader has had enough */
export async function writePipe(pieces: AsyncIterable<Uint8Array>, pipe: Socket): Promise<void> {
  try {
    await pipeline(pieces, pipe);
  } catch (error) {
    // Errors of the source are of the network, and have been given another class.
    throw isSystemError(error) && error.code === 'EPIPE' ? new ClosedPipe('the pipe is closed', { cause: error }) : error;
  }
}

function openSocket(fd: number, direction: { readable?: boolean; writable?: boolean }): Socket {
  return new Socket({ fd, readable: false, writable: false, ...direction });
}
