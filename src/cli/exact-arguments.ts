import { UsageError } from '../base/errors.ts';
import type { World } from '../base/world.ts';

/** Character by which Node.js replaces bytes that are not UTF-8; it may also occur in valid text. */
export const replacement = '\uFFFD';

const hint = 'rename the file, or give another path to it';

/** The error for a name whose bytes Node.js cannot represent. */
export function createInexactError(name: string): UsageError {
  return new UsageError(`${name}: the name is not valid UTF-8, and another file or directory may have the name shown here`, { hint });
}

/** @throws {UsageError} when an argument is not UTF-8: the decoded text may name another file */
export function assertExactArguments({ argv, argumentBytes }: Pick<World, 'argv' | 'argumentBytes'>): void {
  const given = new Set(argv.filter((word) => word.includes(replacement)));
  for (const bytes of (given.size > 0 && argumentBytes?.()) || []) {
    const text = Buffer.from(bytes).toString();
    if (given.has(text) && !Buffer.from(text).equals(bytes)) throw createInexactError(text);
  }
}
