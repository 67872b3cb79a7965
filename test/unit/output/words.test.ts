import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { colourEnabled, createPaint } from '../../../src/output/colour.ts';
import { nearest } from '../../../src/base/nearest.ts';
import { truncate, measure, wrap } from '../../../src/output/width.ts';
import { escapeControl } from '../../../src/output/escape.ts';
import { readTimeHere } from '../../support/processor-time.ts';

describe('the nearest word', () => {
  const nouns = ['account', 'keys', 'users', 'roles', 'policies', 'images', 'packages', 'stor', 'jobs', 'mpu', 'ls', 'fingerprint'];

  test.each([
    ['keyz', 'keys'],
    ['sotr', 'stor'],
    ['pakages', 'packages'],
    ['POLICYS', 'policies'],
    ['fing', 'fingerprint'],
    ['jbo', undefined],
    ['xyz', undefined],
    ['l', undefined],
    ['', undefined],
    ['completely-else', undefined],
  ])('to %s is %s', (word, expected) => {
    expect(nearest(word, nouns)).toBe(expected);
  });

  test('finds any word with two neighbours swapped', () => {
    const long = nouns.filter((noun) => noun.length > 3);
    fc.assert(
      fc.property(fc.constantFrom(...long), fc.nat(20), (noun, at) => {
        const index = at % (noun.length - 1);
        const swapped = noun.slice(0, index) + noun.charAt(index + 1) + noun.charAt(index) + noun.slice(index + 2);
        expect(nearest(swapped, nouns)).toBe(noun);
      }),
    );
  });
});

describe('colours', () => {
  test.each([
    ['auto', {}, true, true],
    ['auto', {}, false, false],
    ['always', { NO_COLOR: '1' }, false, true],
    ['never', { CLICOLOR_FORCE: '1' }, true, false],
    ['auto', { NO_COLOR: '1', CLICOLOR_FORCE: '1' }, true, false],
    ['auto', { NO_COLOR: '' }, true, true],
    ['auto', { CLICOLOR_FORCE: '1' }, false, true],
    ['auto', { CLICOLOR_FORCE: '0' }, false, false],
    ['auto', { CLICOLOR: '0' }, true, false],
    ['auto', { TERM: 'dumb' }, true, false],
  ] as const)('%s, %j, terminal %s: %s', (choice, env, isTerminal, expected) => {
    expect(colourEnabled(choice, env, isTerminal)).toBe(expected);
  });

  test('are painted only when enabled, whatever the environment of the tests', async () => {
    expect((await createPaint(true)).red('x')).toBe('\u001b[31mx\u001b[39m');
    expect((await createPaint(false)).red('x')).toBe('x');
  });
});

describe('widths', () => {
  const words = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '日', 'é', '👍', 'e\u0301') });

  test('truncated text fits', () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 1, max: 30 }), (text, width) => {
        const cut = truncate(text, width);
        expect(measure(cut)).toBeLessThanOrEqual(width);
        const isWhole = measure(text) <= width;
        expect(isWhole ? cut === text : text.startsWith(cut.slice(0, -1)) && cut.endsWith('…')).toBe(true);
      }),
    );
  });

  test('wrapped text fits, and only spaces are lost', () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 2, max: 30 }), (text, width) => {
        const lines = wrap(text, width);
        expect(lines.every((line) => measure(line) <= width)).toBe(true);
        expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
      }),
    );
  });

  test('a very long word is wrapped in linear time', () => {
    const started = readTimeHere();
    expect(wrap('x'.repeat(200_000), 80)).toHaveLength(2500);
    expect(readTimeHere() - started).toBeLessThan(2000);
  });

  test('control characters are spelled out', () => {
    expect(escapeControl('a\tb\n\r\u0000\u001b\u007f\u009b\u2028\u202e\u2069é日')).toBe(
      'a\\tb\\n\\r\\x00\\x1b\\x7f\\x9b\\u2028\\u202e\\u2069é日',
    );
  });
});
