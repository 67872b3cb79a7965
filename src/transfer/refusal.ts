import { ApiError } from '../errors.ts';

/** Whether a condition of a request did not hold. Other conflicts, such as a directory that is full, are failures of their own. */
export function isConditionFailed(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 412 || (error.status === 409 && error.code.startsWith('ConcurrentRequest')));
}
