import { isInCalendar } from '../../base/calendar.ts';
import { UsageError } from '../../base/errors.ts';
import { parseDuration } from '../../output/units.ts';

const isoForm = /^(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})/;
const httpForm = /^[A-Z][a-z]{2}, (?<day>\d{1,2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4})/;
const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** True if text begins with a day that its month does not have. */
function isOffCalendar(text: string): boolean {
  const { year, month = '', day } = (isoForm.exec(text) ?? httpForm.exec(text))?.groups ?? {};
  return day !== undefined && !isInCalendar(Number(year), Number(month) || monthNames.indexOf(month) + 1, Number(day));
}

/** Parses a time to milliseconds since the epoch: an ISO 8601 or HTTP date, or how long ago. */
export function readMoment(given: string, option: string, now: number): number {
  const isDate = /^\d{4}-|^[A-Z][a-z]{2}, \d/.test(given);
  const isDuration = /^[\d.]/.test(given);
  if (isDate && isOffCalendar(given))
    throw new UsageError(`${option}: "${given}" is not a day of the calendar`, { hint: `${option} 2024-05-31, or ${option} 7d` });
  const date = isDate ? Date.parse(given) : isDuration ? now - parseDuration(given) : NaN;
  if (Number.isNaN(date))
    throw new UsageError(`${option}: "${given}" is neither a date nor a duration`, { hint: `${option} 2024-05-31, or ${option} 7d` });
  return date;
}
