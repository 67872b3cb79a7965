import { isDeepStrictEqual } from 'node:util';
import { LocalError } from '../base/errors.ts';

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

/**
 * Compares what a change was worked out from with what is there now: the API replaces lists as a whole, and nobody's change may be lost.
 * @throws {LocalError} when they differ
 */
export function requireUnchanged(label: string, before: unknown, now: unknown): void {
  if (isSame(before, now)) return;
  throw new LocalError(`${label} was changed by somebody else in the meantime: nothing was done`, { hint: 'run the command again' });
}
