import type { Budget } from './budget.ts';
import { compilePattern } from './pattern.ts';
import { dayOf, readDate, readDay, readTime, timeOf } from './moments.ts';
import { containsAddress, readAddress, readNetwork } from './addresses.ts';
import { splitRegex, type Operator, type TypeName } from './rule.ts';

/** Tests a value of the request; undefined when the value does not fit the type. */
export type ValueTest = (value: unknown, budget: Budget) => boolean | undefined;

/** A type of the rule language: parses values of rules and compares values of requests. */
interface ValueType {
  readonly operators: readonly Operator[];
  /** Description of valid values, for messages. */
  readonly expects: string;
  /**
   * A value of a rule as a number (for `string` the text itself) that can be ordered; undefined if the text does not fit. Absent for types
   * without order.
   */
  read?(text: string): number | string | undefined;
  /** The test `operator text`; undefined when the text does not fit. */
  compile(operator: Operator, text: string): ValueTest | undefined;
}

const comparing: readonly Operator[] = ['=', '!=', '<', '>', '<=', '>=', 'IN'];

function compare<T extends number | string>(operator: Operator, left: T, right: T): boolean {
  if (operator === '!=') return left !== right;
  if (operator === '<') return left < right;
  if (operator === '>') return left > right;
  if (operator === '<=') return left <= right;
  if (operator === '>=') return left >= right;
  return left === right;
}

/** A type whose values are ordered: `read` parses a value of a rule, `take` converts a value of a request. */
function orderedType<T extends number | string>(
  expects: string,
  read: (text: string) => T | undefined,
  take: (value: unknown) => T | undefined,
  operators = comparing,
): ValueType {
  const compile = (operator: Operator, text: string): ValueTest | undefined => {
    const right = read(text);
    if (right === undefined) return undefined;
    return (value) => {
      const left = take(value);
      return left === undefined ? undefined : compare(operator, left, right);
    };
  };
  return { operators, expects, read, compile };
}

function readNumber(text: string): number | undefined {
  if (/^0[xX][0-9a-fA-F]+$/.test(text)) return Number(text);
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined;
}

function takeNumber(value: unknown): number | undefined {
  if (value instanceof Date) return takeNumber(value.getTime());
  if (typeof value === 'string') return readNumber(value);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function takeText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : undefined;
}

function readBoolean(text: string): number | undefined {
  const word = text.toLowerCase();
  return word === 'true' ? 1 : word === 'false' ? 0 : undefined;
}

function takeBoolean(value: unknown): number | undefined {
  return typeof value === 'boolean' ? Number(value) : typeof value === 'string' ? readBoolean(value) : undefined;
}

function takeDate(value: unknown): number | undefined {
  if (typeof value === 'string') return readDate(value);
  return value instanceof Date || typeof value === 'number' ? takeNumber(value) : undefined;
}

function takeDay(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) && value >= 1 && value <= 7 ? value : undefined;
  if (typeof value === 'string' && readDay(value) !== undefined) return readDay(value);
  const date = takeDate(value);
  return date === undefined ? undefined : dayOf(date);
}

/** Seconds since midnight, UTC. */
function takeTime(value: unknown): number | undefined {
  if (typeof value === 'string' && readTime(value) !== undefined) return readTime(value);
  const date = typeof value === 'number' ? undefined : takeDate(value);
  return date === undefined ? undefined : timeOf(date);
}

/** A list of texts; a single text is split at commas, as in the headers that carry lists. */
function takeList(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  return typeof value === 'string' ? value.split(',').map((part) => part.trim()) : undefined;
}

function compileLike(text: string): ValueTest {
  const { body, flags } = splitRegex(text);
  const matches = compilePattern(body, flags);
  return (value, budget) => {
    const subject = takeText(value);
    return subject === undefined ? undefined : matches(subject, budget);
  };
}

const plainText = orderedType('any text', (text) => text, takeText);

const ip: ValueType = {
  operators: ['=', '!=', 'IN'],
  expects: 'an address or a network, such as 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32',
  compile(operator, text) {
    const network = readNetwork(text);
    if (!network) return undefined;
    return (value) => {
      const address = typeof value === 'string' ? readAddress(value) : undefined;
      return address && containsAddress(network, address) === (operator !== '!=');
    };
  },
};

const array: ValueType = {
  operators: ['CONTAINS'],
  expects: 'any text',
  compile: (_operator, text) => (value) => takeList(value)?.includes(text),
};

export const types: Readonly<Record<TypeName, ValueType>> = {
  array,
  boolean: orderedType('true or false', readBoolean, takeBoolean, ['=', '!=', 'IN']),
  date: orderedType('a date, such as 2026-01-31 or 2026-01-31T09:00:00Z', readDate, takeDate),
  day: orderedType('a day: 1 (Monday) to 7, mon, monday', readDay, takeDay),
  ip,
  number: orderedType('a number', readNumber, takeNumber),
  string: {
    ...plainText,
    operators: [...comparing, 'LIKE'],
    compile: (operator, text) => (operator === 'LIKE' ? compileLike(text) : plainText.compile(operator, text)),
  },
  time: orderedType('a time, hh:mm or hh:mm:ss, 00:00 to 23:59:59', readTime, takeTime),
};

/** True if a rule may use this text as a value of the type. Patterns of LIKE are checked by the parser. */
export function fitsType(type: TypeName, text: string): boolean {
  return type === 'array' || types[type].compile('=', text) !== undefined;
}

/** Compiles the test for `operator values`; several values (of IN) are alternatives. */
export function compileTest(type: TypeName, operator: Operator, values: readonly string[]): ValueTest {
  const tests = values.map((text) => types[type].compile(operator === 'IN' ? '=' : operator, text));
  return (value, budget) => {
    for (const test of tests) {
      budget.left -= 1;
      const result = test?.(value, budget);
      if (result !== false) return result;
    }
    return false;
  };
}
