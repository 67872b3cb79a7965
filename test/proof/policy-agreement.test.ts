import { expect, test } from 'vitest';
import { evaluateRule } from '../../src/policy/evaluate.ts';
import { parseRule } from '../../src/policy/parser.ts';
import { printRule } from '../../src/policy/print.ts';
import { createChoices, makeRequest, writeRule } from '../support/random-rule.ts';
import { scale } from '../support/scale.ts';
import { allowsBySecond } from '../support/second-evaluator.ts';

/** The evaluator and a second one, which was written from the description of the language alone, agree on random rules and requests. */

const count = scale(40_000, 400_000);

test(`${count} random rules and requests`, () => {
  const random = createChoices(20_261_122);
  const disagreements: string[] = [];
  let allowed = 0;
  for (let round = 0; round < count; round += 1) {
    const rule = writeRule(random);
    const request = makeRequest(random);
    const expected = allowsBySecond(rule, request);
    const parsed = parseRule(rule);
    for (const each of [parsed, parseRule(printRule(parsed))]) {
      if ((evaluateRule(each, request).outcome === 'allows') !== expected)
        disagreements.push(`${expected} ${rule} ${JSON.stringify(request)}`);
    }
    if (expected) allowed += 1;
  }
  expect(disagreements.slice(0, 5)).toEqual([]);
  // Neither answer is rare.
  expect(allowed).toBeGreaterThan(count / 20);
  expect(allowed).toBeLessThan(count / 2);
});
