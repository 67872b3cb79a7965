import { describe, expect, test } from 'vitest';
import { escapeControl, escapeData, escapeYaml, hasControl, quoteName } from '../../../src/output/escape.ts';

const unseen: readonly [string, string][] = [
  ['\u200b', String.raw`\u200b`],
  ['\u200c', String.raw`\u200c`],
  ['\u200d', String.raw`\u200d`],
  ['\u200e', String.raw`\u200e`],
  ['\u200f', String.raw`\u200f`],
  ['\u061c', String.raw`\u061c`],
  ['\u00ad', String.raw`\xad`],
  ['\ufeff', String.raw`\ufeff`],
  ['\u115f', String.raw`\u115f`],
  ['\u3164', String.raw`\u3164`],
  ['\ufe0f', String.raw`\ufe0f`],
  ['\u202e', String.raw`\u202e`],
  ['\u2066', String.raw`\u2066`],
  ['\u2028', String.raw`\u2028`],
  ['\u009b', String.raw`\x9b`],
  ['\u{e0041}', String.raw`\U000e0041`],
  ['\u{1d173}', String.raw`\U0001d173`],
  ['\u001b', String.raw`\x1b`],
];

test.each(unseen)('what is not seen is shown as an escape: %s', (character, escape) => {
  const text = `a${character}b`;
  expect([escapeControl(text), hasControl(text)]).toEqual([`a${escape}b`, true]);
  const json = escapeData(JSON.stringify({ text }));
  expect(JSON.parse(json)).toEqual({ text });
  expect(json).not.toContain(character);
});

test('YAML has one escape for a character beyond the first plane', () => {
  expect(escapeYaml('"\u{e0041}\u200b"')).toBe(String.raw`"\U000e0041\u200b"`);
});

test.each([
  'plain',
  'Grüße',
  'e\u0301',
  '漢字',
  'العربية',
  '\u{1f600}',
  '\u2764\ufe0f',
  '\u{1f469}\u200d\u{1f4bb}',
  '\u{1f3f3}\ufe0f\u200d\u{1f308}',
])('what is seen stays as it is: %s', (text) => {
  expect([escapeControl(text), escapeData(text), hasControl(text)]).toEqual([text, text, false]);
});

describe('names of which each has a line', () => {
  test.each([
    ['plain name', 'plain name'],
    ['back\\slash and "quote"', 'back\\slash and "quote"'],
    ['a\nb', String.raw`"a\nb"`],
    ['a\rb\tc', String.raw`"a\rb\tc"`],
    ['\u001b[31m', String.raw`"\033[31m"`],
    ['\n"\\', String.raw`"\n\"\\"`],
    ['"a"', String.raw`"\"a\""`],
    ['Grüße', 'Grüße'],
  ])('%j', (name, line) => expect(quoteName(name)).toBe(line));
});
