import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { UsageError } from '../../../src/base/errors.ts';
import { expandBraces } from '../../../src/transfer/tree/braces.ts';
import { isPattern } from '../../../src/transfer/tree/glob.ts';
import { createMatcher } from '../../../src/transfer/tree/wildcard.ts';
import { lacks } from '../../support/witnesses.ts';

test.skipIf(lacks('bash'))('braces stand for the words that they stand for in bash', () => {
  const words = [
    'a{b,c}d',
    '{a,b}{1,2}',
    '{a,{b,c}}x',
    '{a}',
    'a{',
    '}a{b,c',
    '{,x}y',
    '{a,b',
    'x{a,b}{c',
    '{{a,b}',
    'plain',
    '{a,b},{c,d}',
  ];
  for (const word of words) {
    const expected = execFileSync('bash', ['-fc', `printf '%s\\n' ${word}`], { encoding: 'utf8' })
      .trimEnd()
      .split('\n');
    expect([word, expandBraces(word)]).toEqual([word, expected]);
  }
});

test('a backslash takes the meaning from a brace, and too many words are refused', () => {
  expect(expandBraces('\\{a,b}')).toEqual(['\\{a,b}']);
  expect(expandBraces('{a\\,b,c}')).toEqual(['a\\,b', 'c']);
  expect(() => expandBraces('{a,b}'.repeat(20))).toThrow(UsageError);
});

test('a backslash takes the meaning from a wildcard, and brackets have one only as classes', () => {
  expect(createMatcher('a\\*')('a*')).toBe(true);
  expect(createMatcher('a\\*')('ab')).toBe(false);
  expect(createMatcher('a\\\\*')('a\\b')).toBe(true);
  expect(createMatcher('[ab]')('a')).toBe(true);
  expect(createMatcher('[ab]', { classes: false })('a')).toBe(false);
  expect(createMatcher('[ab]*', { classes: false })('[ab]c')).toBe(true);
});

test('what is a pattern depends on the form that is wanted', () => {
  const forms = ['name', 'wildcards', 'glob'] as const;
  const kinds = (text: string): boolean[] => forms.map((form) => isPattern(text, form));
  expect(kinds('a*')).toEqual([false, true, true]);
  expect(kinds('a[1].log')).toEqual([false, false, true]);
  expect(kinds('{a,b}')).toEqual([false, false, true]);
  expect(kinds('plain')).toEqual([false, false, false]);
});
