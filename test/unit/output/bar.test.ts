import { expect, test } from 'vitest';
import { drawBar } from '../../../src/output/bar.ts';

test.each([
  [0, '    '],
  [1, '████'],
  [0.5, '██  '],
  [1 / 32, '▏   '],
  [0.99, '████'],
  [0.95, '███▊'],
  [-1, '    '],
  [7, '████'],
  [NaN, '    '],
])('a share of %d is %j', (share, bar) => {
  expect(drawBar(share, 4)).toBe(bar);
});
