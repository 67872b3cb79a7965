import { describeSystemError } from '../../base/errors.ts';
import { isDiskFull } from '../store/disk-full.ts';

/** Describes the cause of a failure without disclosing paths or internals of the machine, because other accounts may read it. */
function describeCause(error: unknown): string {
  if (isDiskFull(error)) return describeSystemError(Object.assign(new Error(), { code: 'ENOSPC' }));
  return 'an internal error (see the log of the service)';
}

/** The `problem` of a job while the service cannot continue it. */
export function describeProblem(what: string, error: unknown, next = 'the service retries'): string {
  return `${what}: ${describeCause(error)}; ${next}`;
}
