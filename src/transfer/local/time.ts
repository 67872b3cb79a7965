import { fstatSync, futimesSync, statSync, utimesSync } from 'node:fs';

/** File times in nanoseconds since the epoch, as file systems keep them; a JavaScript number cannot hold them. */

const second = 1_000_000_000n;
const millisecond = 1_000_000n;
const microsecond = 1000n;

/** A time, and the smallest difference that its notation can express, nanoseconds. */
export interface KeptTime {
  readonly time: bigint;
  readonly step: bigint;
}

/** The maximum distance of a `Date` from the epoch, milliseconds. */
const latestDate = 8_640_000_000_000_000n;

/** Rounds down, also before 1970. */
function floorTo(time: bigint, step: bigint): bigint {
  const rest = time % step;
  return rest < 0n ? time - rest - step : time - rest;
}

/** Whole milliseconds, rounded down. */
export function toMilliseconds(time: bigint): number {
  return Number(floorTo(time, millisecond) / millisecond);
}

/** Formats a time for `m-mtime`: ISO 8601 with as many digits as needed; seconds outside the range of that notation. */
export function printTime(time: bigint): string {
  const whole = floorTo(time, second);
  const digits = String(time - whole).padStart(9, '0');
  const milliseconds = floorTo(time, millisecond) / millisecond;
  if (milliseconds > latestDate || milliseconds < -latestDate) return String(whole / second);
  const text = new Date(Number(milliseconds)).toISOString();
  return digits.endsWith('000000') ? text : text.replace(/\.\d{3}Z$/, `.${digits}Z`);
}

/** Reads a number of seconds; digits after the ninth of the fraction are ignored. */
function readSeconds(value: string): KeptTime | undefined {
  const [, sign, whole = '', fraction = ''] = /^([+-]?)(\d{1,14})(?:\.(\d{1,9})\d*)?$/.exec(value) ?? [];
  if (sign === undefined) return undefined;
  const magnitude = BigInt(whole) * second + BigInt(fraction.padEnd(9, '0'));
  return { time: sign === '-' ? -magnitude : magnitude, step: 10n ** BigInt(9 - fraction.length) };
}

/** Reads ISO 8601, in UTC unless it names a zone. */
function readDate(value: string): KeptTime | undefined {
  const [, start = '', fraction = '', zone = 'Z'] =
    /^((?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?(Z|[+-]\d\d:?\d\d)?$/i.exec(value.trim().replace(' ', 'T')) ?? [];
  const milliseconds = start === '' ? Date.parse(value) : Date.parse(`${start}${zone.toUpperCase()}`);
  if (Number.isNaN(milliseconds)) return undefined;
  const time = BigInt(milliseconds) * millisecond + BigInt(fraction.padEnd(9, '0'));
  return { time, step: start === '' ? millisecond : 10n ** BigInt(9 - fraction.length) };
}

/** Reads an `m-mtime` header: ISO 8601, or seconds. Undefined when it is neither. */
export function readTime(value: string | undefined): KeptTime | undefined {
  if (value === undefined || value === '') return undefined;
  return readSeconds(value) ?? readDate(value);
}

/** Maximum error of Node.js when it sets a time, which it holds as a floating-point number, nanoseconds. */
const inexact = 4n * microsecond;

/** The coarsest unit to which a file system or tool may have truncated this time. */
function stepOf(time: bigint): bigint {
  return [second, millisecond, microsecond].find((step) => time % step === 0n) ?? 1n;
}

/** True if a file's time equals the kept one at the resolution of the coarser of the two. */
export function isSameTime(file: bigint, kept: KeptTime): boolean {
  const difference = file > kept.time ? file - kept.time : kept.time - file;
  const steps = [stepOf(file), kept.step, inexact];
  return steps.some((step) => difference < step);
}

/** True if this Node.js sets nanoseconds; releases before 24 truncate to microseconds. Undefined until the first time is set. */
let setsNanoseconds: boolean | undefined;

/** The time in seconds, as text: Node.js would take a negative number for the current time. */
function toSeconds(time: bigint, isExact: boolean): string {
  const whole = floorTo(time, second);
  const [unit, perSecond] = isExact ? [1n, 1e9] : [microsecond, 1e6];
  // Node.js truncates towards zero to the unit: its middle is the safest.
  const middle = Number((time - whole) / unit) + (time < 0n ? -0.5 : 0.5);
  return String(Number(whole / second) + middle / perSecond);
}

/** Sets the modification time of a file, given by path or descriptor. */
export function setTime(file: string | number, time: bigint): void {
  const set = (text: string): void => (typeof file === 'number' ? futimesSync(file, text, text) : utimesSync(file, text, text));
  set(toSeconds(time, setsNanoseconds === true));
  if (setsNanoseconds !== undefined) return;
  const { mtimeNs } = typeof file === 'number' ? fstatSync(file, { bigint: true }) : statSync(file, { bigint: true });
  setsNanoseconds = mtimeNs % microsecond !== 0n;
  if (setsNanoseconds) set(toSeconds(time, true));
}
