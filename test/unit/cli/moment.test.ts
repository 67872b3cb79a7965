import { expect, test } from 'vitest';
import { readMoment } from '../../../src/commands/stor/moment.ts';

const now = Date.UTC(2026, 0, 10);

test.each([
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['2024-05-31T10:00:00+02:00', '2024-05-31T08:00:00.000Z'],
  ['Thu, 29 Feb 2024 10:00:00 GMT', '2024-02-29T10:00:00.000Z'],
  ['7d', '2026-01-03T00:00:00.000Z'],
])('%s is a time', (given, expected) => {
  expect(new Date(readMoment(given, '--older', now)).toISOString()).toBe(expected);
});

test.each(['2024-02-30', '2023-02-29', '2024-04-31T10:00:00Z', '2024-13-01', '2024-00-10', '2024-05-00', 'Fri, 30 Feb 2024 10:00:00 GMT'])(
  '%s is not a day of the calendar',
  (given) => {
    expect(() => readMoment(given, '--older', now)).toThrow(`--older: "${given}" is not a day of the calendar`);
  },
);

test.each(['soon', '2024-05-31 foo'])('%s is refused', (given) => {
  expect(() => readMoment(given, '--newer', now)).toThrow(`--newer: "${given}" is neither a date nor a duration`);
});
