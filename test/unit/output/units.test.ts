import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../src/base/errors.ts';
import { formatAge, formatDuration, formatRate, formatSize, parseDuration, parseLimit, parseSize } from '../../../src/output/units.ts';

describe('sizes', () => {
  test.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1024 ** 2 - 1, '1.0 MiB'],
    [1.5 * 1024 ** 3, '1.5 GiB'],
    [Number.MAX_SAFE_INTEGER, '8.0 PiB'],
    [-2048, '-2.0 KiB'],
  ])('%d is %s', (bytes, text) => {
    expect(formatSize(bytes)).toBe(text);
  });

  test.each([
    ['0', 0],
    ['512', 512],
    ['512B', 512],
    ['100k', 102_400],
    ['100kB', 100_000],
    ['128M', 128 * 1024 ** 2],
    ['128Mi', 128 * 1024 ** 2],
    ['1.5GiB', 1.5 * 1024 ** 3],
    [' 2 TiB ', 2 * 1024 ** 4],
  ])('"%s" is %d bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  test.each(['', 'k', '-1', '1.', '1e9', '12x', '1 000', '99E', 'NaN', '1iB'])('"%s" is refused with examples', (text) => {
    expect(() => parseSize(text)).toThrow(UsageError);
    expect(() => parseSize(text)).toThrow(
      expect.objectContaining({ message: `"${text}" is not a size`, hint: expect.stringContaining('128M') as string }),
    );
  });

  test('are read back to within their last digit', () => {
    fc.assert(
      fc.property(
        fc.maxSafeNat().map((bytes) => Math.floor(bytes / 2)),
        (bytes) => {
          const text = formatSize(bytes);
          expect(Math.abs(parseSize(text) - bytes)).toBeLessThanOrEqual(bytes * 0.0501);
          expect(formatSize(parseSize(text))).toBe(text);
        },
      ),
    );
  });

  test('rates', () => {
    expect(formatRate(1.5 * 1024 ** 2)).toBe('1.5 MiB/s');
    expect(formatRate(10.4)).toBe('10 B/s');
  });
});

describe('durations', () => {
  test.each([
    ['250ms', 250],
    ['45s', 45_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['1.5s', 1500],
    ['1w', 604_800_000],
    ['0s', 0],
    ['1H 30M', 5_400_000],
    ['30', 30_000],
  ])('"%s" is %d milliseconds', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  test.each(['', 's', '-1s', '1x', '1h30', '1 000', 'soon', '9'.repeat(30)])('"%s" is refused with examples', (text) => {
    expect(() => parseDuration(text)).toThrow(UsageError);
    expect(() => parseDuration(text)).toThrow(expect.objectContaining({ hint: expect.stringContaining('1h30m') as string }));
  });

  test('as a limit 0 is none, and none is longer than a timer can be', () => {
    expect(['1500ms', '0', '0s', '60d', '1w'].map(parseLimit)).toEqual([1500, 2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1, 604_800_000]);
  });

  test.each([
    [0, '0s'],
    [250, '250ms'],
    [1500, '1.5s'],
    [9999.6, '10s'],
    [59_600, '1m'],
    [5_400_000, '1h30m'],
    [-1500, '-1.5s'],
    [90_061_000, '1d1h1m1s'],
  ])('%d milliseconds are %s', (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });

  test('are read back as they were', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.nat(9999),
          fc.nat().map((seconds) => seconds * 1000),
        ),
        (milliseconds) => {
          expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
        },
      ),
    );
  });
});

test('ages have one unit', () => {
  const now = Date.parse('2026-03-10T12:00:00Z');
  const ages = [
    '2026-03-10T11:59:15Z',
    '2026-03-10T11:57:00Z',
    '2026-03-10T07:00:00Z',
    '2026-03-07T11:00:00Z',
    '2024-03-12',
    '2024-01-01',
    '2026-03-13T13:00:00Z',
    'never',
  ];
  expect(ages.map((iso) => formatAge(iso, now))).toEqual(['45s', '3m', '5h', '3d', '728d', '2y', 'in 3d', 'never']);
});
