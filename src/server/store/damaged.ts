import { isSystemError } from '../../base/errors.ts';

/** A content that its object names cannot be read, and a retry will not help. */
export class DamagedContent extends Error {}

/** Names the content and the object for an error about the content itself; other errors stay. */
export function explainDamage(error: unknown, content: string, path: string): unknown {
  const isMissing = isSystemError(error) && error.code === 'ENOENT';
  // A bucket that is missing is no damage of one content.
  const isRefused =
    error instanceof Error && 'status' in error && error.status === 404 && 'reason' in error && error.reason !== 'NoSuchBucket';
  if (!isMissing && !isRefused && !(error instanceof DamagedContent)) return error;
  return new DamagedContent(
    `the content ${content} of ${path} is missing: restore it from a backup; in a cluster, cloud server collect --verify finds all such objects`,
    { cause: error },
  );
}
