import { expect, test } from 'vitest';
import { quoteShell } from '../../../src/base/quote.ts';
import { parseAuthorization } from '../../../src/auth/authorization-header.ts';
import { readPublicKey } from '../../../src/auth/public-key.ts';
import { readLines } from '../../../src/client/response.ts';
import { parseDuration, parseSize } from '../../../src/output/units.ts';
import { evaluateRule } from '../../../src/policy/evaluate.ts';
import { parseRule } from '../../../src/policy/parser.ts';
import { chooseVersion } from '../../../src/server/http/version.ts';
import { collectPairs } from '../../../src/server/http/read-parameters.ts';
import { accepts } from '../../../src/server/storage/accept.ts';
import { cleanDisposition } from '../../../src/server/storage/disposition.ts';
import { createMatcher } from '../../../src/transfer/tree/wildcard.ts';
import { readTimeHere } from '../../support/processor-time.ts';

/** Milliseconds of processor time for an input of this many characters: what is linear takes a few, what is quadratic takes minutes. */
const most = 8000;
const size = 300_000;

function ignore(parse: () => unknown): void {
  try {
    parse();
  } catch {
    // Refused: what is measured is how long that took.
  }
}

const askRule = (text: string): unknown =>
  evaluateRule(parseRule(text), { action: 'a'.repeat(100), resource: '/demo', activeRoles: [], now: 0 });
const long = (unit: string): string => unit.repeat(size / unit.length);

const works: Readonly<Record<string, () => unknown>> = {
  'public keys with long blanks': () => readPublicKey(`ssh-rsa AAAA${long(' ')}\nx`),
  'public keys of blanks and tabs': () => readPublicKey(`a A${long(' \t')}\r\n\r\nx`),
  'public keys of padding': () => readPublicKey(`ssh-rsa ${long('=')}`),
  'Authorization of commas': () => parseAuthorization(`Signature ${long('a="b",')}`),
  'Authorization of blanks': () => parseAuthorization(`Signature${long(' ')}keyId`),
  'sizes of digits': () => parseSize(`${long('1')}x`),
  'durations of digits': () => parseDuration(`${long('1')}x`),
  'durations of units': () => parseDuration(`${long('1m')}x`),
  'rules with long numbers': () => askRule(`CAN a WHEN n::number = ${long('1')}x`),
  'rules of parentheses': () => askRule(`CAN a WHEN ${long('(')}`),
  'rules of blanks': () => askRule(`CAN a${long(' ')}`),
  'rules of stars': () => askRule(`CAN ${long('*a')}`),
  'ranges of versions': () => chooseVersion(long('~ ')),
  'parameters of one name': () => collectPairs(Array.from({ length: size }, () => ['a', ''] as const)),
  'Accept of commas': () => accepts(long('a/b;q=1,'), 'text/plain'),
  'Content-Disposition of quotes': () => cleanDisposition(`a; b="${'\\"'.repeat(2000)}`),
  'Content-Disposition of parameters': () => cleanDisposition(`a${';b=c'.repeat(1000)}`),
  'patterns of stars': () => createMatcher('*a*a*a*a*a*a*a*a*a*a*b')('a'.repeat(1000)),
  'patterns of folders': () => createMatcher('**/**/**/**/**/**/**/x')('a/'.repeat(500)),
  'words for a shell': () => quoteShell(long("'")),
};

test.each(Object.keys(works))('takes no longer than its length justifies: %s', (name) => {
  const started = readTimeHere();
  ignore(works[name] ?? (() => undefined));
  expect(readTimeHere() - started).toBeLessThan(most);
});

async function* cutSmall(): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; at += 1) yield Buffer.from('a');
}

test('a line that comes byte by byte', async () => {
  const started = readTimeHere();
  for await (const line of readLines(cutSmall())) expect(line).toHaveLength(size);
  expect(readTimeHere() - started).toBeLessThan(most);
});
