import { UsageError } from '../../base/errors.ts';
import { parseDuration } from '../../output/units.ts';

/** Parses a time to milliseconds since the epoch: an ISO 8601 or HTTP date, or how long ago. */
export function readMoment(given: string, option: string, now: number): number {
  const isDate = /^\d{4}-|^[A-Z][a-z]{2}, \d/.test(given);
  const isDuration = /^[\d.]/.test(given);
  const date = isDate ? Date.parse(given) : isDuration ? now - parseDuration(given) : NaN;
  if (Number.isNaN(date))
    throw new UsageError(`${option}: "${given}" is neither a date nor a duration`, { hint: `${option} 2024-05-31, or ${option} 7d` });
  return date;
}
