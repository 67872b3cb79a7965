import { UsageError } from '../base/errors.ts';
import type { World } from '../base/world.ts';

/** What Node.js puts in the place of bytes that are not UTF-8; it is a character of its own too. */
export const replacement = '\uFFFD';

const hint = 'rename it, or name what is meant by another path';

/** The error for a name that the system has in other bytes than the program was given. */
export function createInexactError(name: string): UsageError {
  return new UsageError(`${name}: the name is not UTF-8, and another file or directory may have the name that is shown here`, { hint });
}

/** @throws {UsageError} when an argument is not UTF-8: as it was given to the program it may name something else */
export function assertExactArguments({ argv, argumentBytes }: Pick<World, 'argv' | 'argumentBytes'>): void {
  const given = new Set(argv.filter((word) => word.includes(replacement)));
  for (const bytes of (given.size > 0 && argumentBytes?.()) || []) {
    const text = Buffer.from(bytes).toString();
    if (given.has(text) && !Buffer.from(text).equals(bytes)) throw createInexactError(text);
  }
}
