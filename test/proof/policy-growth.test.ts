import { describe, expect, test } from 'vitest';
import { parseRule } from '../../src/policy/parser.ts';
import { evaluateRule } from '../../src/policy/evaluate.ts';
import { PolicySyntaxError } from '../../src/policy/syntax-error.ts';

/** Texts of about `size` characters that make a careless parser slow or deep. */
const long: [name: string, make: (size: number) => string][] = [
  ['one long word', (size) => `CAN ${'a'.repeat(size)}`],
  ['stars', (size) => `CAN ${'*a'.repeat(size / 2)}`],
  ['backslashes', (size) => `CAN ${'\\'.repeat(size)}`],
  ['blanks', (size) => `CAN${' '.repeat(size)}`],
  ['a long list', (size) => `CAN ${'a, '.repeat(size / 3)}b AND c`],
  ['a list without AND', (size) => `CAN ${'a,'.repeat(size / 2)}a`],
  ['slashes', (size) => `CAN ${'/,'.repeat(size / 2)}`],
  ['slashes in resources', (size) => `CAN a ${'/a, '.repeat(size / 4)}b AND c`],
  ['open classes', (size) => `CAN a ${'/[,'.repeat(size / 3)}]/`],
  ['open classes, closed far away', (size) => `CAN a ${'/[,'.repeat(size / 3)} ]/${'a'.repeat(size)}`],
  ['regular expressions', (size) => `CAN ${'/a/, '.repeat(size / 5)}b AND c`],
  ['repeating regular expressions', (size) => `CAN ${'/(.{9}){9}/, '.repeat(size / 13)}b AND c`],
  ['an open quotation mark', (size) => `CAN "${'a'.repeat(size)}`],
  ['escapes', (size) => `CAN "${'\\n'.repeat(size / 2)}"`],
  ['parentheses', (size) => `CAN a IF ${'('.repeat(size)}`],
  ['closing parentheses', (size) => `CAN a IF day = 1${')'.repeat(size)}`],
  ['NOT', (size) => `CAN a IF ${'NOT '.repeat(size / 4)}`],
  ['a long AND', (size) => `CAN a IF ${'day = 1 AND '.repeat(size / 12)}day = 1`],
  ['a long OR of groups', (size) => `CAN a IF ${'(day = 1) OR '.repeat(size / 13)}day = 1`],
  ['a long IN', (size) => `CAN a IF day IN (${'1, '.repeat(size / 3)}1)`],
  ['addresses', (size) => `CAN a IF sourceip IN (${'::1, '.repeat(size / 5)}::1)`],
  ['dates', (size) => `CAN a IF date IN (${'2026-01-31, '.repeat(size / 12)}2026-01-31)`],
  ['long values', (size) => `CAN a IF sourceip = ${'1:'.repeat(size / 2)}`],
  ['a long unknown type', (size) => `CAN a IF a::${'b'.repeat(size)} = 1`],
  ['colons', (size) => `CAN ${':'.repeat(size)}`],
  ['operators', (size) => `CAN a IF a ${'='.repeat(size)}`],
];

function measure(work: () => void): number {
  let best = Infinity;
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

/** Eight times the text: linear is 8, quadratic 64. Beside an honest rule of the same length a text takes 3 at most. */
const bound = 24;

/** How many times as long as the second work the first one takes. Other work on the machine only adds: the least of several rounds counts. */
function measureGrowth(work: () => void, reference: () => void): number {
  let least = Infinity;
  for (let round = 0; round < 8 && least >= bound; round++) least = Math.min(least, (measure(work) + 0.2) / (measure(reference) + 0.2));
  return least;
}

function parseAnyhow(text: string): void {
  try {
    parseRule(text);
  } catch (error) {
    if (!(error instanceof PolicySyntaxError)) throw error;
  }
}

describe('time grows with the length of the text, not faster', () => {
  test.each(long)('%s', (_name, make) => {
    const short = make(12_000);
    const longer = make(96_000);
    const growth = measureGrowth(
      () => parseAnyhow(longer),
      () => parseAnyhow(short),
    );
    expect(growth).toBeLessThan(bound);
  });
});

/** A rule such as people write, of about `size` characters. */
function makeHonest(size: number): string {
  const group = 'sourceip = 10.0.0.0/8 AND day IN (mon, tue, wed) AND overwrite = false OR ';
  return `CAN getobject AND putobject /demo/stor/logs/* AND /demo/stor/backup/* IF ${group.repeat(size / group.length)}day = 1`;
}

describe('no text takes much longer than an honest rule of its length', () => {
  test.each(long)('%s', (_name, make) => {
    const text = make(32_768);
    const honest = makeHonest(text.length);
    const growth = measureGrowth(
      () => parseAnyhow(text),
      () => parseRule(honest),
    );
    expect(growth).toBeLessThan(bound);
  });
});

describe('patterns that make a backtracking matcher hang', () => {
  const hostile = ['(a+)+$', '(a|a)*$', '(a|aa)+$', '(.*)(.*)(.*)(.*)(.*)x', '([a-z]+)*!', '(a?){30}a{30}x', '^(([a-z])+.)+[A-Z]([a-z])+$'];
  test.each(hostile)('%s', (body) => {
    const rule = parseRule(`CAN b IF user-agent LIKE "/${body}/"`);
    const ask = (length: number) => (): void => {
      const userAgent = `${'a'.repeat(length)}!`;
      evaluateRule(rule, { action: 'b', resource: '/demo', now: 0, userAgent });
    };
    expect(measureGrowth(ask(1600), ask(200))).toBeLessThan(bound);
  });
});
