import { isDeepStrictEqual } from 'node:util';
import { ApiError, LocalError, unlessMissing } from '../base/errors.ts';

/** Normalizes a value for comparison: sorts lists, and drops empty fields and `updated`. */
function toCanonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toCanonical).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name, each]) => name !== 'updated' && each !== undefined && each !== '');
  return Object.fromEntries(entries.map(([name, each]) => [name, toCanonical(each)]));
}

/** True if two versions of a resource are equal; the order of lists and the time of the last change do not count. */
function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(toCanonical(a), toCanonical(b));
}

/** True if reads return a resource as a write returned it, both in the list and by itself. */
export async function isShownAs<T extends { id: string }>(
  written: T,
  list: () => Promise<readonly T[]>,
  get: () => Promise<T>,
): Promise<boolean> {
  const listed = (await list()).find(({ id }) => id === written.id);
  return isSame(listed, written) && isSame(await unlessMissing(get()), written);
}

/**
 * The current state of a resource; undefined when it no longer exists. Reads may lag behind writes, but the response to a write is current
 * (compute document, section 1, rule 6), even when the write changes nothing. Needed to compute the new value of a list that is replaced.
 */
export async function readCurrent<T extends { id: string }>(
  id: string,
  changeNothing: () => Promise<T>,
  list: () => Promise<readonly T[]>,
): Promise<T | undefined> {
  try {
    return await unlessMissing(changeNothing());
  } catch (error) {
    // Some services reject a change without fields.
    if (error instanceof ApiError && [400, 409].includes(error.status)) return (await list()).find((each) => each.id === id);
    throw error;
  }
}

/**
 * Asserts that the resource is still as it was when the change was computed: the API replaces whole lists, and changes by others must not
 * be lost.
 * @throws {LocalError} when they differ
 */
export function requireUnchanged(label: string, before: unknown, now: unknown): void {
  if (isSame(before, now)) return;
  throw new LocalError(`${label} was changed by somebody else in the meantime: nothing was done`, { hint: 'run the command again' });
}
