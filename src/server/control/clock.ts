import type { ClockState, ControlInput } from '../../api/control.ts';
import { UsageError } from '../../base/errors.ts';
import type { ServiceClock } from '../clock.ts';

/** Latest time in milliseconds that HTTP and the database can represent; the earliest is 1970. */
const latest = Date.parse('9999-12-31T23:59:59.999Z');

/** An ISO 8601 date with an optional time; UTC if it has no offset. */
const timeForm = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?$/iu;

function readTime(text: string): number {
  const isZoned = /(?:Z|[+-]\d\d:?\d\d)$/iu.test(text.slice('2026-01-01'.length));
  const time = timeForm.test(text) ? Date.parse(isZoned || text.length === '2026-01-01'.length ? text : `${text.replace(' ', 'T')}Z`) : NaN;
  // `Date.parse` takes a day that the month does not have as a day of the next month.
  const day = text.slice(0, 10);
  if (!Number.isNaN(time) && new Date(day).toISOString().startsWith(day)) return time;
  throw new UsageError(`"${text}" is not a time`, { hint: 'for example 2027-01-01 or 2027-01-01T12:30:00Z' });
}

function assertPossible(time: number): number {
  if (time >= 0 && time <= latest) return time;
  throw new UsageError('the clock of a service stays between the years 1970 and 9999');
}

/** Shows or changes the clock. @throws {UsageError} for an invalid time, or two changes */
export function changeClock(clock: ServiceClock, { set, advance, skew, reset }: ControlInput<'clock'>): ClockState {
  if ([set, advance, skew, reset].filter((each) => each !== undefined).length > 1)
    throw new UsageError('the clock takes one change: set, advance, skew or reset');
  if (set !== undefined) clock.set(assertPossible(readTime(set)));
  if (advance !== undefined) {
    assertPossible(clock.now() + advance);
    clock.advance(advance);
  }
  if (skew !== undefined) {
    assertPossible(clock.requestTime() - clock.offsets.request + skew);
    clock.skew(skew);
  }
  if (reset === true) clock.reset();
  return { time: new Date(clock.now()).toISOString(), offset: Math.round(clock.offsets.time), skew: clock.offsets.request };
}
