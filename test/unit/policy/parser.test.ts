import { describe, expect, test } from 'vitest';
import { parseRule } from '../../../src/policy/parser.ts';
import { printRule } from '../../../src/policy/print.ts';
import { pointAt, PolicySyntaxError } from '../../../src/policy/syntax-error.ts';
import { acceptedRules, refusedRules } from './rules.ts';

function refuse(rule: string): PolicySyntaxError {
  try {
    parseRule(rule);
  } catch (error) {
    if (error instanceof PolicySyntaxError) return error;
    throw error;
  }
  throw new Error(`accepted: ${rule}`);
}

test('the tables hold more than 150 rules', () => {
  expect(acceptedRules.length + refusedRules.length).toBeGreaterThan(150);
});

/** The rule, carets under the place, and the problem. */
function render(error: PolicySyntaxError): string[] {
  return [...pointAt(error.rule, error), error.problem];
}

describe('accepted', () => {
  test.each(acceptedRules)('%s', (rule, printed) => {
    const parsed = parseRule(rule);
    expect(printRule(parsed)).toBe(printed);
    expect(parseRule(printed)).toEqual(parsed);
  });
});

describe('refused', () => {
  test.each(refusedRules)('%s', (rule, offset, length, problem) => {
    const error = refuse(rule);
    expect(error.problem).toContain(problem);
    expect({ offset: error.offset, length: error.length, rule: error.rule }).toEqual({ offset, length, rule });
    expect(error.message).toBe(`${error.problem} (character ${offset + 1} of the rule)`);
    expect(error.message).not.toMatch(/\n/);
  });
});

test('what a rule consists of', () => {
  expect(parseRule('fred CAN NOT get* AND /^a/i /x WHEN NOT day IN (1, 2) OR a::string LIKE /b/')).toEqual({
    principals: { kind: 'list', items: [{ kind: 'exact', text: 'fred' }] },
    negative: true,
    actions: {
      kind: 'list',
      items: [
        { kind: 'fuzzy', parts: ['get', ''] },
        { kind: 'regex', body: '^a', flags: 'i' },
      ],
    },
    resources: { kind: 'list', items: [{ kind: 'exact', text: '/x' }] },
    condition: {
      kind: 'or',
      any: [
        { kind: 'not', condition: { kind: 'comparison', name: 'day', operator: 'IN', values: ['1', '2'] } },
        { kind: 'comparison', name: 'a', type: 'string', operator: 'LIKE', values: ['/b/'] },
      ],
    },
  });
});

describe('an error for people', () => {
  test('has the rule, carets and words', () => {
    expect(render(refuse('CAN a IF day = funday'))).toEqual([
      'CAN a IF day = funday',
      '               ^^^^^^',
      '"funday" does not fit the type day: it takes a day: 1 (Monday) to 7, mon, monday',
    ]);
  });

  test('points behind the end when something is missing there', () => {
    expect(render(refuse('CAN'))).toEqual(['CAN', '   ^', 'an action is missing at the end of the rule']);
  });

  test('shows a long rule around the place only, and control characters as spaces', () => {
    const [line = '', carets = ''] = render(refuse(`CAN ${'a'.repeat(500)}\u001b\n\t, AND ${'b'.repeat(500)}`));
    expect(line.length).toBeLessThan(140);
    expect(line.slice(carets.indexOf('^'), carets.indexOf('^') + 3)).toBe('AND');
    expect(line).not.toMatch(/[^ -~]/);
  });

  test('cuts long words', () => {
    expect(refuse(`CAN a b ${'c'.repeat(1000)}`).message.length).toBeLessThan(200);
  });
});
