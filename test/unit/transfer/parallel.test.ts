import { expect, test } from 'vitest';
import { chooseParallel } from '../../../src/commands/stor/transfer-options.ts';

const mebibyte = 1024 * 1024;

test('files under way at once: one for each MiB/s of a limit, 16 at most, as many as are asked for', () => {
  expect(chooseParallel({})).toBe(16);
  expect([100, mebibyte, 4 * mebibyte, 100 * mebibyte].map((bwlimit) => chooseParallel({ bwlimit }))).toEqual([1, 1, 4, 16]);
  expect(chooseParallel({ bwlimit: 100, parallel: 8 })).toBe(8);
});
