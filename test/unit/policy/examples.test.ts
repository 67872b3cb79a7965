import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { knownActions } from '../../../src/policy/actions.ts';
import { checkRules } from '../../../src/policy/check.ts';

/** No example in help, manual or README uses a form that `policies check` warns about: deployed services would refuse or misread it. */

const root = new URL('../../../', import.meta.url).pathname;

function readSources(folder: string): string[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((file) => /\.(?:ts|md|\d)$/u.test(file));
  return files.map((file) => readFileSync(join(root, folder, file), 'utf8'));
}

/** Rules as they stand between quotation marks, or in a line of their own. */
function findRules(text: string): string[] {
  const plain = text.replaceAll('\\-', '-').replaceAll('\\(aq', "'").replaceAll('\\(dq', '"').replaceAll("\\'", "'");
  const quoted = [...plain.matchAll(/(['"`])(CAN [^\s][^\n]*?)\1/gu)].map(([, , rule = '']) => rule);
  const lines = plain.split('\n').filter((line) => /^\s*CAN [a-z]/u.test(line));
  return [...quoted, ...lines.map((line) => line.trim())];
}

test('check has nothing to say of the rules of examples', () => {
  const texts = [
    ...readSources('src/commands'),
    ...readSources('src/cli'),
    ...readSources('man'),
    readFileSync(join(root, 'README.md'), 'utf8'),
  ];
  // Where the language is described, words stand for actions and conditions.
  const rules = [...new Set(texts.flatMap(findRules))].filter((rule) => !/[<>]\w+>|\bactions\b|\.\.\.|\$\{/u.test(rule));
  // One example shows what check says of a mistake.
  expect(rules).toContain('CAN listkey');
  expect(rules.length).toBeGreaterThan(8);
  const known = knownActions();
  const sound = rules.filter((rule) => rule !== 'CAN listkey');
  expect(sound.flatMap((rule) => checkRules([rule], known).map(({ message }) => `${rule}: ${message}`))).toEqual([]);
});
