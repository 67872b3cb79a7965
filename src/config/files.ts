import { isRecord } from '../base/is-record.ts';
import { isSystemError, UsageError } from '../base/errors.ts';
import { readPrivate, readUserFile, UntrustedFile, writePrivate } from '../base/private-files.ts';

/** JSON files of the program. `private-files.ts` decides which owners and modes are trusted. */

/** Trusted owners of a file: only this user (state), also root (configuration), or anybody (files of other programs). */
export type Trust = 'private' | 'config' | 'any';

function readText(path: string, trust: Trust): string | undefined {
  try {
    return trust === 'private' ? readPrivate(path) : readUserFile(path, { isConfig: trust === 'config' });
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw error instanceof UntrustedFile ? new UsageError(error.message, { hint: 'fix or delete it' }) : error;
  }
}

/** The JSON object in a file; undefined when there is no file. @throws {UsageError} for a file that is not trusted or not a JSON object */
export function readJsonFile(path: string, trust: Trust): Record<string, unknown> | undefined {
  const text = readText(path, trust);
  if (text === undefined) return undefined;
  const hint = 'fix or delete the file';
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch (error) {
    throw new UsageError(`${path}: not JSON: ${error instanceof Error ? error.message : ''}`, { hint });
  }
  throw new UsageError(`${path}: not a JSON object`, { hint });
}

/** Writes a file of this user atomically. If the path is a link, its target is replaced. */
export function writeFileAtomically(path: string, content: string): void {
  try {
    writePrivate(path, content, { throughLinks: true });
  } catch (error) {
    // The name of the temporary file means nothing to the user.
    if (isSystemError(error)) error.path = path;
    throw error;
  }
}
