import { lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isSystemError } from '../../base/errors.ts';
import { assertSpelling } from '../local/one-file.ts';

/** Why an object stays although no local file of its name takes part. */
export type Kept = 'unholdable' | 'hidden';

/** Errors of a path that does not exist. All others say nothing of what may be there. */
const missing = new Set(['ENOENT', 'ENOTDIR']);

/**
 * Why the object of a path must not be deleted though a walk of the local tree did not come by the path: something is there that takes no
 * part, or nothing of this name can be there. Undefined when there is nothing.
 * @param verified directories that have their own names, for the next call
 * @throws {LocalError} when the name is that of another local file too
 */
export function findReasonToKeep(root: string, rel: string, verified: Set<string>): Kept | undefined {
  const file = join(root, rel);
  try {
    lstatSync(file);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (!missing.has(error.code ?? '')) return 'unholdable';
    if (rel.includes('/')) assertSpelling(root, dirname(rel), verified);
    return undefined;
  }
  assertSpelling(root, rel, verified);
  return 'hidden';
}
