import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compilePattern, findPatternProblem } from '../../../src/policy/pattern.ts';

const subjects = [
  '',
  'a',
  'b',
  'ab',
  'aab',
  'abc',
  'ABC',
  'a b',
  'a\nb',
  'aaa',
  'x1_',
  '{',
  ']',
  'a.b',
  '(a)',
  '/',
  '\\',
  'é',
  '😀',
  '😀a',
  '-',
  'listkeys',
  'getkey',
];

/** Expressions of every kind the engine has and rules may use. */
const bodies = [
  'a',
  '^a',
  'a$',
  '^a$',
  '^$',
  '$',
  '.',
  '^.$',
  'a|b',
  '^(a|b)$',
  '(?:ab)+',
  '^(?<name>a)b',
  'a*',
  '^a+$',
  '^a?b$',
  '^a{2}b',
  '^a{2,}$',
  '^a{1,2}$',
  'a+?b',
  '[ab]',
  '[^a]',
  '[a-c]{3}',
  '[]',
  '[^]',
  '[\\]]',
  '[{]',
  '\\d',
  '\\w+',
  '\\s',
  '\\S',
  '\\bkey',
  'key\\b',
  '\\Bkey',
  '\\B',
  '\\x41',
  '\\u0041',
  '\\.',
  '\\(a\\)',
  '\\/',
  '\\\\',
  '{',
  ']',
  'a{',
  'a{,2}',
  '()',
  '(|a)',
  '(a|)$',
  '(a*)*',
  '(a*)+b',
  '((a|b)*c)?',
  '^(list|get)keys?$',
  'é',
  '\\0',
  '\\cJ',
  '\\t',
  '-',
];

describe('agrees with the engine', () => {
  test.each(bodies)('%s', (body) => {
    for (const flags of ['', 'i', 'm', 's', 'g', 'ims']) {
      const engine = new RegExp(body, flags.replace('g', ''));
      const matches = compilePattern(body, flags);
      expect(findPatternProblem(body, flags)).toBeUndefined();
      for (const subject of subjects) expect([flags, subject, matches(subject)]).toEqual([flags, subject, engine.test(subject)]);
    }
  });

  test.each(['^.$', '^\\u{1F600}$', '\\p{L}', '\\P{L}', '[😀]', '😀+', '^\\uD83D\\uDE00$', '\\u0061', '\\x61', '^[^a]$'])(
    '%s with u',
    (body) => {
      const engine = new RegExp(body, 'u');
      const matches = compilePattern(body, 'u');
      for (const subject of subjects) expect([subject, matches(subject)]).toEqual([subject, engine.test(subject)]);
    },
  );

  test('random expressions on random texts', () => {
    const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '\\b', '^', '$', '\\d', '-');
    const { body } = fc.letrec<{ body: string }>((tie) => ({
      body: fc.oneof(
        { maxDepth: 4 },
        atom,
        fc.tuple(tie('body'), tie('body')).map(([left, right]) => left + right),
        fc.tuple(tie('body'), tie('body')).map(([left, right]) => `(?:${left}|${right})`),
        fc
          .tuple(tie('body'), fc.constantFrom('*', '+', '?', '{2}', '{0,2}', '{1,}', '*?', '+?'))
          .map(([inner, sign]) => `(${inner})${sign}`),
      ),
    }));
    const subject = fc.string({ unit: fc.constantFrom('a', 'b', '1', '-', '\n'), maxLength: 8 });
    fc.assert(
      fc.property(body, fc.constantFrom('', 'i', 'm', 's'), subject, (source, flags, text) => {
        fc.pre(findPatternProblem(source, flags) === undefined);
        expect(compilePattern(source, flags)(text)).toBe(new RegExp(source, flags).test(text));
      }),
      { numRuns: 3000 },
    );
  });
});

describe('what rules cannot', () => {
  test.each([
    ['(a)\\1', 'uses a backreference'],
    ['(?<n>a)\\k<n>', 'uses a backreference'],
    ['(?=a)', 'uses lookahead'],
    ['(?!a)', 'uses lookahead'],
    ['(?<=a)b', 'uses lookahead or lookbehind'],
    ['(?<!a)b', 'uses lookahead or lookbehind'],
    ['a{600}', 'repeats too much'],
    ['((a{9}){9}){9}', 'repeats too much'],
    ['(){900}', 'repeats too much'],
    ['(', 'not valid: unterminated group'],
    ['[b-a]', 'not valid: range out of order'],
    ['a{2,1}', 'not valid: numbers out of order'],
  ])('%s', (body, problem) => {
    expect(findPatternProblem(body, '')).toContain(problem);
    expect(compilePattern(body, '')('aaa')).toBeUndefined();
  });
});
