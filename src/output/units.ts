/** Sizes, durations, ages and rates: from numbers to words and back. */
import { UsageError } from '../base/errors.ts';

const sizeLetters = ['K', 'M', 'G', 'T', 'P', 'E'] as const;

/** Bytes for people, in steps of 1024: `0 B`, `1.0 KiB`, `1.5 GiB`. */
export function formatSize(bytes: number): string {
  if (!Number.isFinite(bytes) || Math.abs(bytes) < 1024) return `${bytes} B`;
  let value = bytes;
  let step = -1;
  // 1023.95 and more would be written 1024.0.
  while (Math.abs(value) >= 1023.95 && step < sizeLetters.length - 1) {
    value /= 1024;
    step++;
  }
  return `${value.toFixed(1)} ${sizeLetters[step]}iB`;
}

/** Bytes per second for people: `1.5 MiB/s`. */
export function formatRate(bytesPerSecond: number): string {
  return `${formatSize(Math.round(bytesPerSecond))}/s`;
}

/**
 * Bytes from `512`, `100k`, `128M`, `1.5GiB`: steps of 1024; of 1000 with a `B` and no `i` (`100kB`), as GNU tools have it.
 * @throws {UsageError} for anything else.
 */
export function parseSize(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(?:([kmgtpe])(i?b|i)?|b)?$/i.exec(text.trim());
  const [, digits = '', letter = '', end = ''] = match ?? [];
  const power = sizeLetters.findIndex((each) => each === letter.toUpperCase()) + 1;
  const bytes = Math.round(Number(digits) * (end.toUpperCase() === 'B' ? 1000 : 1024) ** power);
  if (match === null || !Number.isSafeInteger(bytes)) {
    throw new UsageError(`"${text}" is not a size`, { hint: 'sizes are bytes, or numbers with k, M, G or T: 512, 100k, 128M, 1.5GiB' });
  }
  return bytes;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const durationUnits: Readonly<Record<string, number>> = { w: 7 * day, d: day, h: hour, m: minute, s: second, ms: 1 };

/** Milliseconds for people: `250ms`, `1.5s`, `45s`, `1h30m`, `2d`. Whole seconds from 10 seconds on, milliseconds below. */
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

/** Characters that a duration can have: a text that is none is not looked through for long. */
const longestDuration = 100;

/**
 * Milliseconds from `250ms`, `45s`, `1h30m`, `2d`, `1w`; a bare number is seconds.
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
    throw new UsageError(`"${text}" is not a duration`, { hint: 'durations are numbers with ms, s, m, h, d or w: 250ms, 45s, 1h30m, 2d' });
  }
  return Math.round(sum);
}

/** The longest time that a timer can be set to, milliseconds: what is longer would end at once. */
const longestTimer = 2 ** 31 - 1;

/** A duration as a limit for a timer, milliseconds; 0 is none. @throws {UsageError} as {@link parseDuration} */
export function parseLimit(text: string): number {
  return Math.min(parseDuration(text) || longestTimer, longestTimer);
}

/** Below this an age is in days: of things that are all a year old one sees which are newer. */
const longestInDays = 2 * 365 * day;

const ageUnits = [
  ['y', 365 * day, longestInDays],
  ['d', day],
  ['h', hour],
  ['m', minute],
  ['s', second],
] as const;

/** How long ago a moment was, in one unit: `45s`, `3m`, `5h`, `3d`, `2y`; `in 3d` for one to come. Text that is no date stays as it is. */
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
