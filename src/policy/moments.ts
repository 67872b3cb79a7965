import { isInCalendar } from '../base/calendar.ts';

const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** Prefixes that two days share and that mean the earlier one; `th` and `su` mean the later ones. */
const shortDays: ReadonlyMap<string, number> = new Map([
  ['t', 2],
  ['s', 6],
]);

/** True for spellings of days that deployed services accept too: the shortest unambiguous prefix, three letters, or the whole name. */
export function isCommonDay(text: string): boolean {
  return /^(?:[1-7mtwfs]|tu|th|sa|su|mon|tue|wed|thu|fri|sat|sun|(?:mon|tues|wednes|thurs|fri|satur|sun)day)$/i.test(text);
}

/** Day of the week in UTC, 1 (Monday) to 7 (Sunday). @param moment milliseconds since the epoch */
export function dayOf(moment: number): number {
  return ((new Date(moment).getUTCDay() + 6) % 7) + 1;
}

/** Seconds since midnight, UTC. @param moment milliseconds since the epoch */
export function timeOf(moment: number): number {
  return Math.floor((((moment % 86_400_000) + 86_400_000) % 86_400_000) / 1000);
}

/**
 * Reads a day of the week: 1 (Monday) to 7 (Sunday), a name in any case or an unambiguous prefix of it, `t` for Tuesday, `s` for Saturday,
 * or a date with its time.
 */
export function readDay(text: string): number | undefined {
  if (/^[1-7]$/.test(text)) return Number(text);
  const word = text.toLowerCase();
  if (word === '') return undefined;
  const moment = hasTime(text) ? readDate(text) : undefined;
  if (moment !== undefined) return dayOf(moment);
  const short = shortDays.get(word);
  if (short !== undefined) return short;
  const found = days.filter((day) => day.startsWith(word));
  const [only = ''] = found;
  return found.length === 1 ? days.indexOf(only) + 1 : undefined;
}

function hasTime(text: string): boolean {
  return /\d[T ]\d/i.test(text);
}

/** Reads `hh:mm`, `hh:mm:ss` or a date with its time as seconds since midnight, UTC. */
export function readTime(text: string): number | undefined {
  const moment = hasTime(text) ? readDate(text) : undefined;
  if (moment !== undefined) return timeOf(moment);
  const found = /^(\d{1,2}):([0-5]\d)(?::([0-5]\d))?$/.exec(text);
  if (!found || Number(found[1]) > 23) return undefined;
  return Number(found[1]) * 3600 + Number(found[2]) * 60 + Number(found[3] ?? 0);
}

const isoForm = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i;
const httpForm = /^[A-Za-z]{3}, (\d{2}) ([A-Za-z]{3}) (\d{4}) \d{2}:\d{2}:\d{2} (?:GMT|UTC)$/;
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Rewrites a year alone, or a date with slashes, as ISO 8601. */
function writeIso(text: string): string {
  if (/^\d{4}$/.test(text)) return `${text}-01-01`;
  return text.replace(/^(\d{4})\/(\d{2})\/(\d{2})/, '$1-$2-$3');
}

/** Reads a year, an ISO 8601 date (with slashes too; time and zone optional, default UTC) or an HTTP date as epoch milliseconds. */
export function readDate(written: string): number | undefined {
  const text = writeIso(written);
  const iso = isoForm.exec(text);
  const http = httpForm.exec(text);
  if (!iso && !http) return undefined;
  const [year = 0, month = 0, day = 0] = iso
    ? (iso[1] ?? '').split('-').map(Number)
    : [Number(http?.[3]), monthNames.indexOf((http?.[2] ?? '').toLowerCase()) + 1, Number(http?.[1])];
  if (!isInCalendar(year, month, day)) return undefined;
  const zone = (iso?.[3] ?? 'Z').toUpperCase().replace(/^([+-]\d\d)(\d\d)$/, '$1:$2');
  const result = Date.parse(iso ? `${iso[1]}T${iso[2] ?? '00:00'}${zone}` : text);
  return Number.isNaN(result) ? undefined : result;
}
