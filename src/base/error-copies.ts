import { ApiError, UsageError, type CloudError } from './errors.ts';

/** Errors that say more than those from which they are made. */

/** A copy of the error with other hints, and with another message if one is passed. */
export function withHint(error: ApiError, hint: string | readonly string[], message = error.message): ApiError {
  const { status, code, requestId, errors } = error;
  return new ApiError(status, code, message, { requestId, errors, cause: error, hint });
}

/** The same error with other hints. */
export function setHints(error: CloudError, hints: readonly string[]): CloudError {
  return Object.create(error, { hints: { value: hints, enumerable: true } }) as CloudError;
}

/** The same error with another first hint. */
export function setHint(error: CloudError, hint: string): CloudError {
  return setHints(error, [hint, ...error.hints.slice(1)]);
}

/** The same error with one hint more. */
export function addHint(error: CloudError, hint: string): CloudError {
  return setHints(error, [...error.hints, hint]);
}

/** Reads a value; a usage error gets the place that the value is from, such as an option. */
export function naming<T>(source: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${source}: ${error.message}`, { hint: error.hints, cause: error }) : error;
  }
}
