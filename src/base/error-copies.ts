import { UsageError, type CloudError } from './errors.ts';

/** Errors that say more than those from which they are made. */

/** The same error with other hints, and with another message if one is passed. */
export function withHint<E extends CloudError>(error: E, hint: string | readonly string[], message = error.message): E {
  const hints = typeof hint === 'string' ? [hint] : hint;
  return Object.create(error, { hints: { value: hints, enumerable: true }, message: { value: message } }) as E;
}

/** The same error with another first hint. */
export function withFirstHint<E extends CloudError>(error: E, hint: string): E {
  return withHint(error, [hint, ...error.hints.slice(1)]);
}

/** Reads a value; a usage error gets the place that the value is from, such as an option. */
export function naming<T>(source: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${source}: ${error.message}`, { hint: error.hints, cause: error }) : error;
  }
}
