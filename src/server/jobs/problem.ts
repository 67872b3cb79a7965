import { describeSystemError } from '../../base/errors.ts';
import { isDiskFull } from '../store/disk-full.ts';

/** The cause of a failure in words that do not disclose paths or internals of the machine: other accounts may read them. */
function describeCause(error: unknown): string {
  if (isDiskFull(error)) return describeSystemError(Object.assign(new Error(), { code: 'ENOSPC' }));
  return 'an internal error, which the log of the service describes';
}

/** What the record of a job says while the service cannot go on with it. */
export function describeProblem(what: string, error: unknown, next = 'the service tries again'): string {
  return `${what}: ${describeCause(error)}; ${next}`;
}
