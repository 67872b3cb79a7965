import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { BodyTooLarge, readAll } from '../api/message.ts';
import { describeSystemError, InterruptedError, isSystemError, UsageError } from '../errors.ts';
import type { World } from '../world.ts';

/** Largest input that is read whole, bytes. */
const largest = 16 * 1024 * 1024;

/** A path as the user meant it: below the current folder, `~` for the home folder. */
export function resolvePath({ cwd, home }: Pick<World, 'cwd' | 'home'>, path: string): string {
  return resolve(cwd, path.replace(/^~(?=\/|$)/, home));
}

function refuseLarge(name: string): UsageError {
  return new UsageError(`${name}: has more than the ${largest / 1024 ** 2} MiB that are read`);
}

/** What comes from stdin. When the user interrupts, there is no waiting for more of it. */
export function openStdin({ stdin, interrupted }: Pick<World, 'stdin' | 'interrupted'>): Readable {
  const { stream } = stdin;
  const stop = (): void => void stream.destroy(new InterruptedError('interrupted'));
  interrupted.addEventListener('abort', stop, { once: true });
  if (interrupted.aborted) stop();
  return stream;
}

async function readStdin(world: World): Promise<Buffer> {
  try {
    return Buffer.from(await readAll(openStdin(world), largest));
  } catch (error) {
    throw error instanceof BodyTooLarge ? refuseLarge('stdin') : error;
  }
}

/** Reads a file whole; `-` is stdin. @throws {UsageError} when it cannot be read */
export async function readInput(world: World, path: string): Promise<Buffer> {
  if (path === '-') return readStdin(world);
  const file = resolvePath(world, path);
  try {
    if (statSync(file).size > largest) throw refuseLarge(file);
    return readFileSync(file);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new UsageError(describeSystemError(error), { cause: error });
  }
}

/** The value of an option where `@FILE` stands for the content of a file and `-` for stdin. */
export async function readLong(world: World, value: string): Promise<string> {
  if (value === '-') return (await readInput(world, '-')).toString();
  return value.startsWith('@') ? (await readInput(world, value.slice(1))).toString() : value;
}
