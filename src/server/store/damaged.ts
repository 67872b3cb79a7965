import { isSystemError } from '../../base/errors.ts';

/** A content that its object or image names cannot be read, and a retry will not help. */
export class DamagedContent extends Error {
  readonly problem: string;

  /** @param problem a predicate, such as `is missing` @param which says which content it is, if known */
  constructor(problem: string, { which = '', cause }: { which?: string; cause?: unknown } = {}) {
    super(`the content ${which}${problem}`, { cause });
    this.problem = problem;
  }
}

/** Names the content and the object for an error about the content itself; other errors stay. */
export function explainDamage(error: unknown, content: string, path: string): unknown {
  const isMissing = isSystemError(error) && error.code === 'ENOENT';
  // A bucket that is missing is no damage of one content.
  const isRefused =
    error instanceof Error && 'status' in error && error.status === 404 && 'reason' in error && error.reason !== 'NoSuchBucket';
  if (!isMissing && !isRefused && !(error instanceof DamagedContent)) return error;
  const problem = error instanceof DamagedContent ? error.problem : 'is missing';
  const advice = 'restore it from a backup; in a cluster, cloud server collect --verify finds all such objects';
  return new DamagedContent(`${problem}: ${advice}`, { which: `${content} of ${path} `, cause: error });
}
