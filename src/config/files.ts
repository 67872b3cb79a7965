import { isSystemError, LocalError, UsageError } from '../base/errors.ts';
import { readPrivate, readUserFile, UntrustedFile, withLock, writePrivate } from '../base/private-files.ts';

/** JSON files of the program. Whose they may be, and what they may be, is decided in `private-files.ts`. */

/** Who may have written a file: this user alone (state), also the administrator (configuration), or anybody (other programs' files). */
export type Trust = 'private' | 'config' | 'any';

function readText(path: string, trust: Trust): string | undefined {
  try {
    return trust === 'private' ? readPrivate(path) : readUserFile(path, { isConfig: trust === 'config' });
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error instanceof UntrustedFile ? new UsageError(error.message, { hint: 'fix or remove it' }) : error;
  }
}

/** The JSON object in a file; undefined when there is no file. @throws {UsageError} for what must not be read, and what is no JSON object */
export function readJsonFile(path: string, trust: Trust): Record<string, unknown> | undefined {
  const text = readText(path, trust);
  if (text === undefined) return undefined;
  const hint = 'fix or delete the file';
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    throw new UsageError(`${path}: not JSON: ${error instanceof Error ? error.message : ''}`, { hint });
  }
  throw new UsageError(`${path}: not a JSON object`, { hint });
}

/** Writes a file of this user whole or not at all. What stands in its place as a link is written through. */
export function writeFileAtomically(path: string, content: string): void {
  try {
    writePrivate(path, content, { throughLinks: true });
  } catch (error) {
    // The name under which it was being written says nothing to anybody.
    if (isSystemError(error)) error.path = path;
    throw error;
  }
}

/** Does work while no other process does work under the same lock. @throws {LocalError} when another holds it for too long */
export function lockWhile<T>(path: string, work: () => T): T {
  try {
    return withLock(path, work);
  } catch (error) {
    throw error instanceof UntrustedFile ? new LocalError(error.message, { hint: `if no such process exists: rm ${path}` }) : error;
  }
}
