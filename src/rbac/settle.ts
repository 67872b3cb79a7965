import { isDeepStrictEqual } from 'node:util';
import { ApiError, LocalError, unlessMissing } from '../base/errors.ts';

/** A value with its object keys and its lists in an order of their own, so that two can be compared. */
function toCanonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toCanonical).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name, each]) => name !== 'updated' && each !== undefined && each !== '');
  return Object.fromEntries(entries.map(([name, each]) => [name, toCanonical(each)]));
}

/** Whether two readings of a resource say the same; the order of lists and the time of the last change do not count. */
export function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(toCanonical(a), toCanonical(b));
}

/** Whether reads show a resource as a write answered it, both in the list and by itself. */
export async function isShownAs<T extends { id: string }>(
  written: T,
  list: () => Promise<readonly T[]>,
  get: () => Promise<T>,
): Promise<boolean> {
  const listed = (await list()).find(({ id }) => id === written.id);
  return isSame(listed, written) && isSame(await unlessMissing(get()), written);
}

/**
 * A resource as it is now. Reads may lag behind writes, and a list that is replaced must be worked out from what is there: the answer to a
 * write is current (compute document, section 1, rule 6), also to one that changes nothing. Undefined when the resource is gone.
 */
export async function readCurrent<T extends { id: string }>(
  id: string,
  changeNothing: () => Promise<T>,
  list: () => Promise<readonly T[]>,
): Promise<T | undefined> {
  try {
    return await unlessMissing(changeNothing());
  } catch (error) {
    // Some services refuse a change without fields.
    if (error instanceof ApiError && [400, 409].includes(error.status)) return (await list()).find((each) => each.id === id);
    throw error;
  }
}

/**
 * Compares what a change was worked out from with what is there now: the API replaces lists as a whole, and nobody's change may be lost.
 * @throws {LocalError} when they differ
 */
export function requireUnchanged(label: string, before: unknown, now: unknown): void {
  if (isSame(before, now)) return;
  throw new LocalError(`${label} was changed by somebody else in the meantime: nothing was done`, { hint: 'run the command again' });
}
