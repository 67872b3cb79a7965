const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** Reads a day of the week: 1 (Monday) to 7 (Sunday), a name in any case, or as much of its beginning as tells it from the others. */
export function readDay(text: string): number | undefined {
  if (/^[1-7]$/.test(text)) return Number(text);
  const word = text.toLowerCase();
  if (word === '') return undefined;
  const found = days.filter((day) => day.startsWith(word));
  const [only = ''] = found;
  return found.length === 1 ? days.indexOf(only) + 1 : undefined;
}

/** Reads `hh:mm` or `hh:mm:ss` as seconds since midnight. */
export function readTime(text: string): number | undefined {
  const found = /^(\d{1,2}):([0-5]\d)(?::([0-5]\d))?$/.exec(text);
  if (!found || Number(found[1]) > 23) return undefined;
  return Number(found[1]) * 3600 + Number(found[2]) * 60 + Number(found[3] ?? 0);
}

const isoForm = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i;
const httpForm = /^[A-Za-z]{3}, (\d{2}) ([A-Za-z]{3}) (\d{4}) \d{2}:\d{2}:\d{2} (?:GMT|UTC)$/;
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Whether a month of this year has this day, which the engine's own reader does not mind. */
function isInCalendar(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(2000, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** Reads an ISO 8601 date, with or without time and zone (UTC unless said), or an HTTP date, as milliseconds since the epoch. */
export function readDate(text: string): number | undefined {
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
