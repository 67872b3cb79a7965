import { lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isAbsence, isSystemError } from '../../base/errors.ts';
import { assertSpelling } from '../local/one-file.ts';

/** Why an object stays although no selected local file has its name. */
export type Kept = 'unholdable' | 'hidden';

/**
 * Why the object of a path must not be deleted although a walk of the local tree did not visit the path: something exists there that is
 * left out, or no file can have this name. Undefined when nothing exists there.
 * @param verified directories known to have their exact names; extended for the next call
 * @throws {LocalError} when the name is also that of another local file
 */
export function findReasonToKeep(root: string, rel: string, verified: Set<string>): Kept | undefined {
  const file = join(root, rel);
  try {
    lstatSync(file);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // Other errors say nothing about what may exist.
    if (!isAbsence(error)) return 'unholdable';
    if (rel.includes('/')) assertSpelling(root, dirname(rel), verified);
    return undefined;
  }
  assertSpelling(root, rel, verified);
  return 'hidden';
}
