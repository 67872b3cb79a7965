import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { BodyTooLarge, readAll } from '../api/message.ts';
import { describeSystemError, isSystemError, UsageError } from '../errors.ts';
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

async function readStdin({ stdin }: World): Promise<Buffer> {
  try {
    return Buffer.from(await readAll(stdin.stream as AsyncIterable<Uint8Array>, largest));
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
