/** Formats and parses sizes, durations, ages and rates. */
import { longestTimer } from '../base/clock.ts';
import { UsageError } from '../base/errors.ts';

const sizeLetters = ['K', 'M', 'G', 'T', 'P', 'E'] as const;

/** Formats bytes in steps of 1024: `0 B`, `1.0 KiB`, `1.5 GiB`. */
export function formatSize(bytes: number): string {
  if (!Number.isFinite(bytes) || Math.abs(bytes) < 1024) return `${bytes} B`;
  let value = bytes;
  let step = -1;
  // 1023.95 and above would be rounded to 1024.0.
  while (Math.abs(value) >= 1023.95 && step < sizeLetters.length - 1) {
    value /= 1024;
    step++;
  }
  return `${value.toFixed(1)} ${sizeLetters[step]}iB`;
}

/** Formats bytes per second: `1.5 MiB/s`. */
export function formatRate(bytesPerSecond: number): string {
  return `${formatSize(Math.round(bytesPerSecond))}/s`;
}

/**
 * Parses `512`, `100k`, `128M`, `1.5GiB` to bytes: units of 1024; units of 1000 with a `B` and no `i` (`100kB`), as in GNU tools.
 * @throws {UsageError} for anything else.
 */
export function parseSize(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(?:([kmgtpe])(i?b|i)?|b)?$/i.exec(text.trim());
  const [, digits = '', letter = '', end = ''] = match ?? [];
  const power = sizeLetters.findIndex((each) => each === letter.toUpperCase()) + 1;
  const bytes = Math.round(Number(digits) * (end.toUpperCase() === 'B' ? 1000 : 1024) ** power);
  if (match === null || !Number.isSafeInteger(bytes)) {
    throw new UsageError(`"${text}" is not a size`, { hint: 'write bytes, or a number with k, M, G or T: 512, 100k, 128M, 1.5GiB' });
  }
  return bytes;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const durationUnits: Readonly<Record<string, number>> = { w: 7 * day, d: day, h: hour, m: minute, s: second, ms: 1 };

/** Formats milliseconds: `250ms`, `1.5s`, `45s`, `1h30m`, `2d`. Rounds to whole seconds from 10 seconds on. */
export function formatDuration(milliseconds: number): string {
  const sign = milliseconds < 0 ? '-' : '';
  const size = Math.abs(milliseconds);
  let rest = size < 10 * second ? Math.round(size) : Math.round(size / second) * second;
  if (rest === 0) return '0s';
  if (rest < second) return `${sign}${rest}ms`;
  let text = sign;
  for (const [unit, length] of [
    ['d', day],
    ['h', hour],
    ['m', minute],
  ] as const) {
    const count = Math.floor(rest / length);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * length;
  }
  return rest === 0 ? text : `${text}${rest / second}s`;
}

/** Most characters of a duration, which bounds the time to parse invalid text. */
const longestDuration = 100;

/**
 * Parses `250ms`, `45s`, `1h30m`, `2d`, `1w` to milliseconds; a bare number is seconds.
 * @throws {UsageError} for anything else.
 */
export function parseDuration(text: string): number {
  const compact = text.trim().toLowerCase();
  const parts = /^\d+(\.\d+)?$/.test(compact) ? `${compact}s` : compact;
  const isDuration = parts.length <= longestDuration && /^(\d+(\.\d+)?(ms|[wdhms])\s*)+$/.test(parts);
  let sum = isDuration ? 0 : NaN;
  for (const [, digits, unit = ''] of isDuration ? parts.matchAll(/(\d+(?:\.\d+)?)(ms|[wdhms])/g) : [])
    sum += Number(digits) * (durationUnits[unit] ?? 0);
  if (!Number.isSafeInteger(Math.round(sum))) {
    throw new UsageError(`"${text}" is not a duration`, { hint: 'write numbers with ms, s, m, h, d or w: 250ms, 45s, 1h30m, 2d' });
  }
  return Math.round(sum);
}

/** Parses a duration as a limit for a timer, in milliseconds; 0 means no limit. @throws {UsageError} as {@link parseDuration} */
export function parseLimit(text: string): number {
  return Math.min(parseDuration(text) || longestTimer, longestTimer);
}

/** Ages below this are shown in days: among entries that are all about a year old, years would not tell which are newer. */
const longestInDays = 2 * 365 * day;

const ageUnits = [
  ['y', 365 * day, longestInDays],
  ['d', day],
  ['h', hour],
  ['m', minute],
  ['s', second],
] as const;

/** Formats the age of a time in one unit: `45s`, `3m`, `5h`, `3d`, `2y`; `in 3d` for the future. Text that is not a date is unchanged. */
export function formatAge(iso: string, now: number): string {
  const moment = Date.parse(iso);
  if (Number.isNaN(moment)) return iso;
  const age = Math.abs(now - moment);
  for (const [unit, length, least = length] of ageUnits) {
    if (age < least) continue;
    const text = `${Math.floor(age / length)}${unit}`;
    return moment > now ? `in ${text}` : text;
  }
  return '0s';
}
