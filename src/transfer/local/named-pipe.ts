import { constants, createReadStream, openSync, statSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { checkInterrupted, ClosedPipe, InterruptedError, isSystemError } from '../../base/errors.ts';
import { pause } from '../../client/retry.ts';

/**
 * Opening a named pipe blocks a thread until the other end is opened; nothing can end that thread, not even the end of the process. Here
 * the pipe is opened without blocking, and the event loop waits, which Ctrl-C can end.
 */

/** Milliseconds between two checks for a reader of a pipe. */
const pollMs = 50;

/** Bytes per read from a file that is not a pipe. */
const chunkSize = 256 * 1024;

export function isNamedPipe(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFIFO() === true;
}

function watchInterruption(stream: Readable, signal: AbortSignal | undefined): void {
  const stop = (): void => void stream.destroy(new InterruptedError('interrupted'));
  signal?.addEventListener('abort', stop, { once: true });
  stream.once('close', () => signal?.removeEventListener('abort', stop));
  if (signal?.aborted === true) stop();
}

/** Opens a file, a device or a named pipe, whose writer may appear later. */
export function openToRead(file: string, signal: AbortSignal | undefined): Readable {
  if (!isNamedPipe(file)) return createReadStream(file, { highWaterMark: chunkSize });
  const socket = openSocket(openSync(file, constants.O_RDONLY | constants.O_NONBLOCK), { readable: true });
  watchInterruption(socket, signal);
  return socket;
}

/** Opens a named pipe for writing as soon as it has a reader. @throws {InterruptedError} when the user interrupts the wait */
export async function openToWrite(file: string, signal: AbortSignal | undefined): Promise<Socket> {
  for (;;) {
    try {
      return openSocket(openSync(file, constants.O_WRONLY | constants.O_NONBLOCK), { writable: true });
    } catch (error) {
      if (!isSystemError(error) || error.code !== 'ENXIO') throw error;
    }
    await pause(pollMs, signal);
    checkInterrupted(signal);
  }
}

/** Writes all chunks with back-pressure. @throws {ClosedPipe} when the reader has closed the pipe */
export async function writePipe(chunks: AsyncIterable<Uint8Array>, pipe: Socket): Promise<void> {
  try {
    await pipeline(chunks, pipe);
  } catch (error) {
    // Errors of the source are network errors, which have another class by now.
    throw isSystemError(error) && error.code === 'EPIPE' ? new ClosedPipe('the pipe is closed', { cause: error }) : error;
  }
}

function openSocket(fd: number, direction: { readable?: boolean; writable?: boolean }): Socket {
  return new Socket({ fd, readable: false, writable: false, ...direction });
}
