import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkRules } from '../../../src/policy/check.ts';
import { knownActions } from '../../../src/policy/actions.ts';
import { evaluateRule } from '../../../src/policy/evaluate.ts';
import { parseRule } from '../../../src/policy/parser.ts';
import { printRule } from '../../../src/policy/print.ts';
import {
  operators,
  typeNames,
  type Comparison,
  type Condition,
  type Identifier,
  type Identifiers,
  type Rule,
} from '../../../src/policy/rule.ts';
import { pointAt, PolicySyntaxError } from '../../../src/policy/syntax-error.ts';
import { types } from '../../../src/policy/values.ts';
import { anyCodePoint } from '../../support/code-points.ts';
import { scale } from '../../support/scale.ts';

const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom(...'aB1*\\"/ ,():=<>.-_\n\t'.split('')), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 })),
  minLength: 1,
  maxLength: 12,
});
const exact = fc
  .oneof(fc.constantFrom('getkey', 'AND', 'to', '*', '::', 'a:', '/x/', '/x/i', '"'), anyText)
  .map((text): Identifier => ({ kind: 'exact', text }));
const fuzzyPart = fc.string({ unit: fc.constantFrom(...'abZ0-_.*\\'.split('')), maxLength: 4 }).filter((part) => !part.endsWith('\\'));
const fuzzy = fc
  .array(fuzzyPart, { minLength: 2, maxLength: 4 })
  .filter((parts) => parts.length > 2 || parts.join('') !== '')
  .map((parts): Identifier => ({ kind: 'fuzzy', parts }));
const regex = fc
  .record({
    body: fc.constantFrom('a', '^get', '(a|b)+', '[/,)]', '\\/x', 'a{1,3}?', '.', '"', '::'),
    flags: fc.constantFrom('', 'i', 'gimsu'),
  })
  .map(({ body, flags }): Identifier => ({ kind: 'regex', body, flags }));
const identifiers: fc.Arbitrary<Identifiers> = fc.oneof(
  fc.constant<Identifiers>({ kind: 'all' }),
  fc.array(fc.oneof(exact, fuzzy, regex), { minLength: 1, maxLength: 4 }).map((items): Identifiers => ({ kind: 'list', items })),
);

const valuesOf: Record<(typeof typeNames)[number], fc.Arbitrary<string>> = {
  array: anyText,
  boolean: fc.constantFrom('true', 'FALSE'),
  date: fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }).map((date) => date.toISOString()),
  day: fc.constantFrom('1', '7', 'mon', 'Thursday', 'su'),
  ip: fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.ipV4().map((address) => `${address}/8`),
  ),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  string: fc.oneof(fc.constant(''), anyText),
  time: fc.constantFrom('00:00', '9:30', '23:59:59'),
};
const comparison = fc
  .tuple(fc.constantFrom(...typeNames), fc.oneof(fc.constantFrom('requesttime', 'can', 'day', 'a::b'), anyText))
  .chain(([type, name]) =>
    fc.constantFrom(...types[type].operators).chain((operator) => {
      const most = operator === 'IN' ? 3 : 1;
      const value = operator === 'LIKE' ? fc.constantFrom('/a b/', '/(x), "y"/i', '/\\/[/)]/') : valuesOf[type];
      return fc
        .array(value, { minLength: 1, maxLength: most })
        .map((values): Comparison => ({ kind: 'comparison', name, type, operator, values }));
    }),
  );
const untyped = fc.constantFrom<Comparison>(
  { kind: 'comparison', name: 'day', operator: '=', values: ['mon'] },
  { kind: 'comparison', name: 'activeRoles', operator: 'CONTAINS', values: ['ops'] },
);
const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    fc.oneof(comparison, untyped),
    fc.array(tie('condition'), { minLength: 2, maxLength: 3 }).map((any): Condition => ({ kind: 'or', any })),
    fc.array(tie('condition'), { minLength: 2, maxLength: 3 }).map((all): Condition => ({ kind: 'and', all })),
    tie('condition').map((inner): Condition => ({ kind: 'not', condition: inner })),
  ),
}));
const rule: fc.Arbitrary<Rule> = fc.record(
  { principals: identifiers, negative: fc.boolean(), actions: identifiers, resources: identifiers, condition },
  { requiredKeys: ['negative', 'actions'] },
);

const pieces = fc.constantFrom(
  'CAN',
  'can',
  'NOT',
  'AND',
  'OR',
  'IF',
  'TO',
  'IN',
  'LIKE',
  'CONTAINS',
  'ALL',
  '*',
  ' ',
  ' ',
  ' ',
  ',',
  '(',
  ')',
  '::',
  ':',
  '"',
  '\\',
  '/',
  '/i',
  'a',
  'getkey',
  'get*',
  'day',
  'time',
  'sourceip',
  'foo',
  'mon',
  '1:00',
  '10.0.0.0/8',
  ...typeNames,
  ...operators,
  '/a+/',
  '[',
  ']',
  '{9}',
  '\n',
);
const soup = fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join(''));
const spaced = fc.array(pieces, { maxLength: 25 }).map((parts) => `CAN a IF ${parts.join(' ')}`);
const nonsense = fc.oneof(
  soup,
  spaced,
  fc.string({ unit: anyCodePoint, maxLength: 60 }),
  fc.string({ maxLength: 60 }).map((text) => `CAN ${text}`),
);

test('random rules print and parse back to the same', () => {
  fc.assert(
    fc.property(rule, (made) => {
      const printed = printRule(made);
      expect(parseRule(printed)).toEqual(made);
      expect(printRule(parseRule(printed))).toBe(printed);
    }),
    { numRuns: scale(500, 2000) },
  );
});

function expectPlace(error: PolicySyntaxError, text: string): void {
  expect(error.offset + error.length).toBeLessThanOrEqual(text.length);
  expect(error.message).not.toMatch(/[\n\r]/);
  expect([...pointAt(error.rule, error), error.problem]).toHaveLength(3);
}

function parseOrRender(text: string): Rule | undefined {
  try {
    return parseRule(text);
  } catch (error) {
    if (!(error instanceof PolicySyntaxError)) throw error;
    expectPlace(error, text);
    return undefined;
  }
}

test('random text is a rule or a PolicySyntaxError inside the text, and what is a rule prints back to itself', () => {
  fc.assert(
    fc.property(nonsense, (text) => {
      const parsed = parseOrRender(text);
      expect(parsed && parseRule(printRule(parsed))).toEqual(parsed);
    }),
    { numRuns: scale(1500, 5000) },
  );
});

test('a damaged rule is a rule or a PolicySyntaxError', () => {
  fc.assert(
    fc.property(rule, fc.nat(), fc.nat({ max: 3 }), pieces, (made, at, cut, put) => {
      const printed = printRule(made);
      const place = at % (printed.length + 1);
      parseOrRender(printed.slice(0, place) + put + printed.slice(place + cut));
    }),
    { numRuns: scale(500, 2000) },
  );
});

test('no rule makes the evaluator or the check throw, whatever the request holds', () => {
  const known = knownActions();
  const names = fc.dictionary(fc.constantFrom('owner', 'foo', 'requesttime', '__proto__', 'day'), fc.anything());
  fc.assert(
    fc.property(rule, anyText, names, fc.double(), (made, word, conditions, now) => {
      evaluateRule(made, { action: word, resource: word, now, sourceip: word, userAgent: word, conditions });
      checkRules([printRule(made)], known);
    }),
    { numRuns: scale(300, 1000) },
  );
});
