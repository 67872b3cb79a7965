import { closeSync, openSync, readSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { BodyTooLarge, readAll } from '../api/message.ts';
import { describeSystemError, InterruptedError, isSystemError, UsageError } from '../base/errors.ts';
import type { World } from '../base/world.ts';
import { createInexactError, replacement } from './exact-arguments.ts';

/** Largest input that is read into memory, in bytes. */
const largest = 16 * 1024 * 1024;
/** Bytes per read. */
const chunkSize = 64 * 1024;

/** Resolves a path relative to the current directory; expands `~`. @throws {UsageError} for an empty path, such as an unset variable */
export function resolvePath(world: Pick<World, 'cwd' | 'home' | 'argumentBytes'>, path: string): string {
  if (path === '') throw new UsageError('a path is empty', { hint: 'write . for the current directory' });
  if (path.includes(replacement) && world.argumentBytes?.() === undefined) throw createInexactError(path);
  const whole = path.replace(/^~(?=\/|$)/, world.home);
  return isAbsolute(whole) ? resolve(whole) : resolve(world.cwd, whole);
}

function createLargeError(name: string, limit: number): UsageError {
  return new UsageError(`${name}: is larger than the limit of ${limit / 1024 ** 2} MiB`);
}

/** The stdin stream, which is destroyed when the user interrupts; whoever reads it then gets the error. */
export function openStdin({ stdin, interrupted }: Pick<World, 'stdin' | 'interrupted'>): Readable {
  if (stdin.obstacle !== undefined) throw new UsageError(`stdin ${stdin.obstacle}`, { hint: 'for empty input, write </dev/null' });
  const { stream } = stdin;
  const stop = (): void => void stream.destroy(new InterruptedError('interrupted'));
  // Nobody reads the stream before the first request or, where it is a file, which is not closed at its end, after the last line.
  stream.on('error', () => undefined);
  interrupted.addEventListener('abort', stop, { once: true });
  if (interrupted.aborted) stop();
  return stream;
}

async function readStdin(world: World, limit: number): Promise<Buffer> {
  try {
    return Buffer.from(await readAll(openStdin(world), limit));
  } catch (error) {
    throw error instanceof BodyTooLarge ? createLargeError('stdin', limit) : error;
  }
}

/** Reads a file in chunks, because devices and pipes have no size. */
function readBounded(file: string, limit: number): Buffer {
  const descriptor = openSync(file, 'r');
  try {
    const pieces: Buffer[] = [];
    for (let size = 0; size <= limit;) {
      const piece = Buffer.allocUnsafe(chunkSize);
      const length = readSync(descriptor, piece);
      if (length === 0) return Buffer.concat(pieces);
      pieces.push(piece.subarray(0, length));
      size += length;
    }
    throw createLargeError(file, limit);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads a whole file; `-` is stdin. @throws {UsageError} when it cannot be read, or is larger than `limit` bytes */
export async function readInput(world: World, path: string, limit = largest): Promise<Buffer> {
  if (path === '-') return readStdin(world, limit);
  const file = resolvePath(world, path);
  const read = (): Buffer => readBounded(file, limit);
  try {
    // A read from a pipe may block the event loop for long, so signals must have their default effect.
    return world.runKillable ? world.runKillable(read) : read();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    error.path ??= file;
    throw new UsageError(describeSystemError(error), { cause: error });
  }
}

/** The value of an option: `@FILE` means the content of a file, and `-` stdin. */
export async function readLong(world: World, value: string): Promise<string> {
  if (value === '-') return (await readInput(world, '-')).toString();
  return value.startsWith('@') ? (await readInput(world, value.slice(1))).toString() : value;
}
