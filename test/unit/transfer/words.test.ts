import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { UsageError } from '../../../src/base/errors.ts';
import { createMatcher } from '../../../src/transfer/tree/wildcard.ts';
import { decodeValue, encodeHeaders } from '../../../src/transfer/tree/headers.ts';
import { choosePartSize } from '../../../src/transfer/upload/multipart.ts';
import { compareNames, comparePaths } from '../../../src/base/order.ts';
import { printRemotePath, readRemotePath } from '../../../src/transfer/path.ts';
import { isSameTime, printTime, readTime, setTime } from '../../../src/transfer/local/time.ts';
import { readPlace } from '../../../src/transfer/upload/parts.ts';

const sign = (value: number): number => Math.sign(value);

test('names are ordered by their UTF-8 bytes', () => {
  const text = fc.string({ unit: 'grapheme' });
  fc.assert(fc.property(text, text, (a, b) => sign(compareNames(a, b)) === sign(Buffer.compare(Buffer.from(a), Buffer.from(b)))));
  expect(['a/b', 'a', 'a.b', 'a/a'].toSorted(comparePaths)).toEqual(['a', 'a/a', 'a/b', 'a.b']);
});

test('paths are ordered by their names, one after the other, and a directory comes before what is in it', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '\u0001', '!', '0', '\uffff', '😀'), maxLength: 3 });
  const path = fc.array(name, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(path, path, (a, b) => {
      const at = a.findIndex((each, index) => each !== b[index]);
      const expected = at === -1 || at >= b.length ? a.length - b.length : compareNames(a[at] ?? '', b[at] ?? '');
      expect(sign(comparePaths(a.join('/'), b.join('/')))).toBe(sign(expected));
    }),
  );
});

test.each([
  ['*.gz', 'a.gz', true],
  ['*.gz', 'a/b.gz', false],
  ['**/*.gz', 'a/b/c.gz', true],
  ['**/*.gz', 'c.gz', true],
  ['a/**', 'a/b/c', true],
  ['a/**', 'ab', false],
  ['?', '寿', true],
  ['?', '😀', true],
  ['[a-c]x', 'bx', true],
  ['[!a-c]x', 'bx', false],
  ['[!a-c]x', '/x', false],
  ['[]]', ']', true],
  ['[', '[', true],
  ['a.b', 'axb', false],
  ['a+(b)', 'a+(b)', true],
  ['*', 'new\nline', true],
])('the pattern %s and %s: %s', (pattern, text, expected) => {
  expect(createMatcher(pattern)(text)).toBe(expected);
});

test('any text matches itself with its special characters bracketed', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => createMatcher(text.replace(/[*?[\\]/g, '[$&]'))(text)));
  expect(() => createMatcher('[z-a]')).toThrow(UsageError);
});

test('headers carry any text and come back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 50 }), (text) => {
      // oxlint-disable-next-line no-control-regex
      fc.pre(!/[\u0000-\u0008\u000a-\u001f\u007f]/.test(text));
      const { 'm-x': carried = '' } = encodeHeaders({ 'm-x': text });
      expect(decodeValue(carried)).toBe(text);
      expect(/^[\t -\u00ff]*$/.test(carried)).toBe(true);
    }),
  );
  expect(() => encodeHeaders({ 'm-x': 'a\r\nm-y: b' })).toThrow('control character');
  expect(() => encodeHeaders({ 'm-x': 'x'.repeat(4094) })).toThrow('4096');
  expect(encodeHeaders({ 'm-x': 'x'.repeat(4093) })).toBeDefined();
});

test('parts keep the limits of the services', () => {
  const mebibyte = 1024 * 1024;
  expect(choosePartSize(128 * mebibyte, undefined)).toBe(16 * mebibyte);
  for (const size of [1, 13 * 1024 * mebibyte, 5 * 1024 * 1024 * mebibyte, 99 * 1024 * 1024 * mebibyte + 1]) {
    const part = choosePartSize(size, undefined);
    expect(Math.ceil(size / part)).toBeLessThanOrEqual(800);
    expect(part).toBeGreaterThanOrEqual(5 * mebibyte);
  }
  expect(() => choosePartSize(100, 5 * mebibyte - 1)).toThrow('at least 5 MiB');
  expect(choosePartSize(50_000 * mebibyte, 5 * mebibyte)).toBe(5 * mebibyte);
  expect(() => choosePartSize(50_001 * mebibyte, 5 * mebibyte)).toThrow('10000');
});

test('paths as people type them', () => {
  const read = (text: string): string => printRemotePath(readRemotePath(text, 'demo'));
  expect(read('logs//a.gz/')).toBe('/demo/stor/logs/a.gz');
  expect(read('stor:logs')).toBe('/demo/stor/logs');
  expect(read('stor:east/stor:a')).toBe('/demo/stor/east/stor:a');
  expect(read('~~/public/a')).toBe('/demo/public/a');
  expect(read('/other/stor/x')).toBe('/other/stor/x');
  expect(read('😀')).toBe('/demo/stor/😀');
  expect(() => read('\ud800')).toThrow(UsageError);
  expect(read('')).toBe('/demo/stor');
  for (const bad of ['a/../b', '..', './a', 'a\0b', '/', 'east/stor:a']) expect(() => read(bad)).toThrow(UsageError);
});

test('times of other tools and parts directories are read', () => {
  const read = (text: string): (bigint | undefined)[] => [readTime(text)?.time, readTime(text)?.step];
  expect(read('2024-05-06T07:08:09.123Z')).toEqual([1_714_979_289_123_000_000n, 1_000_000n]);
  expect(read('2024-05-06T07:08:09.123456789Z')).toEqual([1_714_979_289_123_456_789n, 1n]);
  expect(read('2024-05-06T09:08:09+02:00')).toEqual([1_714_979_289_000_000_000n, 1_000_000_000n]);
  // Without a zone it is UTC, whatever that of this machine.
  expect(read('2024-05-06T07:08:09')).toEqual([1_714_979_289_000_000_000n, 1_000_000_000n]);
  expect(read('1714979289.5')).toEqual([1_714_979_289_500_000_000n, 100_000_000n]);
  expect(read('-1.25')).toEqual([-1_250_000_000n, 10_000_000n]);
  expect(readTime('soon')).toBeUndefined();
  // Nanoseconds, and what no system takes for a time.
  for (const huge of ['1700000000000000000', '9'.repeat(400)]) expect(readTime(huge)).toBeUndefined();
  expect(readPlace('/demo/uploads/0f3/0f3c-1')).toEqual({ account: 'demo', prefix: '0f3', id: '0f3c-1' });
  expect(() => readPlace('/demo/stor/0f3')).toThrow('parts directory');
});

test('a time goes into a header and onto a file and back, from 1902 to 2446, and moves no more after the first file', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'cloud-times-')), 'file');
  writeFileSync(file, '');
  const time = fc.bigInt({ min: -2_145_916_800_000_000_000n, max: 15_032_385_535_999_999_999n });
  fc.assert(
    fc.property(time, (wanted) => {
      const header = readTime(printTime(wanted));
      expect(header?.time).toBe(wanted);
      setTime(file, wanted);
      const { mtimeNs } = statSync(file, { bigint: true });
      expect(isSameTime(mtimeNs, { time: wanted, step: 1n })).toBe(true);
      setTime(file, mtimeNs);
      expect(statSync(file, { bigint: true }).mtimeNs).toBe(mtimeNs);
      // What a tool has cut to milliseconds is the same time, another second is not.
      expect(isSameTime(wanted, { time: wanted - (((wanted % 1_000_000n) + 1_000_000n) % 1_000_000n), step: 1_000_000n })).toBe(true);
      expect(isSameTime(wanted, { time: wanted + 1_000_000_000n, step: 1n })).toBe(false);
    }),
    // Shortly before the epoch, floating-point numbers are the most exact.
    { numRuns: 2000, examples: [[-13n], [-12n], [-1n], [0n], [1n]] },
  );
  rmSync(dirname(file), { recursive: true });
});
