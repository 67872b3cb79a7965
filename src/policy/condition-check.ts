import { suppliedNames } from './evaluate.ts';
import { nearest as findNearest } from '../base/nearest.ts';
import { readDate } from './moments.ts';
import { printCondition } from './print.ts';
import { findType, listComparisons, type Comparison, type Condition, type TypeName } from './rule.ts';
import { quoteForMessage, type Place } from './syntax-error.ts';
import { types } from './values.ts';
import type { PlacedFinding } from './finding.ts';

type PlaceOf = (node: object) => Place;

/** Names that some request has: `fromjob` has a value when a task of a job reads an object. Others, such as `owner`, have a type alone. */
const usableNames = new Set([...suppliedNames, 'fromjob']);

/** Comparisons of names that no request has; a rule with one never allows. */
export function findUnsupplied(condition: Condition, placeOf: PlaceOf): PlacedFinding[] {
  return listComparisons(condition)
    .filter(({ name }) => !usableNames.has(name))
    .map((comparison) => {
      const nearest = findNearest(comparison.name, usableNames);
      const hint = nearest === undefined ? '' : `: did you mean ${nearest}?`;
      const article = /^[aeiou]/i.test(comparison.name) ? 'an' : 'a';
      const message = `no request has ${article} ${quoteForMessage(comparison.name)}, and a rule that compares a missing name grants nothing${hint}`;
      return { message, place: placeOf(comparison) };
    });
}

const momentNames = ['requesttime', 'date', 'day', 'time'];

/** The date of a day or of a year, at midnight UTC, and of the next one, as `2026-01-31`; undefined for a date with a time. */
function readSpan(text: string): [from: string, until: string] | undefined {
  const from = readDate(text);
  if (from === undefined || !/^\d{4}(?:[-/]\d{2}[-/]\d{2})?$/.test(text)) return undefined;
  const next = new Date(from);
  if (/^\d{4}$/.test(text)) next.setUTCFullYear(next.getUTCFullYear() + 1);
  else next.setUTCDate(next.getUTCDate() + 1);
  const [first, last] = [new Date(from), next].map((date) => date.toISOString().slice(0, 10));
  return first === undefined || last === undefined || last.startsWith('+') ? undefined : [first, last];
}

/** The comparison as ranges, in parentheses; undefined if one of its values has a time. */
function writeRanges(comparison: Comparison): string | undefined {
  const spans = comparison.values.map(readSpan).filter((span) => span !== undefined);
  if (spans.length < comparison.values.length) return undefined;
  const compare = (operator: '<' | '>=', value: string): Comparison => ({ ...comparison, operator, values: [value] });
  const isDifferent = comparison.operator === '!=';
  const ranges = spans.map(([from, until]): Condition => {
    if (isDifferent) return { kind: 'or', any: [compare('<', from), compare('>=', until)] };
    return { kind: 'and', all: [compare('>=', from), compare('<', until)] };
  });
  const [first, ...others] = ranges;
  if (first === undefined) return undefined;
  return `(${printCondition(others.length === 0 ? first : { kind: 'or', any: ranges })})`;
}

/** Comparisons of the time of a request with a date by `=`, `!=` or `IN`: a date is one millisecond, so that they have nearly always one result. */
export function findMoments(condition: Condition, placeOf: PlaceOf): PlacedFinding[] {
  return listComparisons(condition)
    .filter(({ name, operator }) => momentNames.includes(name) && (operator === '=' || operator === '!=' || operator === 'IN'))
    .filter((comparison) => findType(comparison) === 'date')
    .map((comparison) => {
      const suggestion = writeRanges(comparison);
      const result = comparison.operator === '!=' ? 'true' : 'false';
      const instead = suggestion ?? 'a range with >= and <';
      const message = `a date is compared to the millisecond, so that this is practically always ${result}: write ${instead}`;
      return { message, place: placeOf(comparison), ...(suggestion !== undefined && { suggestion }) };
    });
}

/** The range of values that all comparisons so far allow. */
interface Range {
  low: number | string | undefined;
  lowOpen: boolean;
  high: number | string | undefined;
  highOpen: boolean;
}

function isEmpty({ low, lowOpen, high, highOpen }: Range): boolean {
  if (low === undefined || high === undefined) return false;
  return low > high || (low === high && (lowOpen || highOpen));
}

function narrow(range: Range, { operator }: Comparison, value: number | string): Range {
  const result = { ...range };
  const open = operator === '<' || operator === '>';
  const raises = operator === '=' || operator === '>' || operator === '>=';
  const lowers = operator === '=' || operator === '<' || operator === '<=';
  if (raises && (result.low === undefined || value > result.low || (value === result.low && open))) {
    result.low = value;
    result.lowOpen = open;
  }
  if (lowers && (result.high === undefined || value < result.high || (value === result.high && open))) {
    result.high = value;
    result.highOpen = open;
  }
  return result;
}

/** `requesttime` and the names derived from it are one moment on several scales, so they are told apart by type. */
function nameScale(comparison: Comparison, type: TypeName): string {
  const moment = momentNames.includes(comparison.name);
  return `${moment ? 'requesttime' : comparison.name}::${type}`;
}

function checkTogether(parts: readonly Condition[], placeOf: PlaceOf): PlacedFinding[] {
  const ranges = new Map<string, Range>();
  for (const part of parts) {
    const type = part.kind === 'comparison' ? findType(part) : undefined;
    const value = part.kind === 'comparison' && type && part.values.length === 1 ? types[type].read?.(part.values[0] ?? '') : undefined;
    if (part.kind !== 'comparison' || type === undefined || value === undefined) continue;
    const scale = nameScale(part, type);
    const range = narrow(ranges.get(scale) ?? { low: undefined, lowOpen: false, high: undefined, highOpen: false }, part, value);
    if (isEmpty(range)) return [describeContradiction(part, type, placeOf)];
    ranges.set(scale, range);
  }
  return [];
}

function describeContradiction(comparison: Comparison, type: TypeName, placeOf: PlaceOf): PlacedFinding {
  const hint = type === 'time' ? 'use OR for a range over midnight' : 'use OR for alternatives';
  const message = `this contradicts earlier comparisons of ${quoteForMessage(comparison.name)} and is never true: ${hint}`;
  return { message, place: placeOf(comparison) };
}

/** Comparisons joined by AND that contradict each other: two different values, or an end before the beginning. */
export function findContradictions(condition: Condition, placeOf: PlaceOf): PlacedFinding[] {
  if (condition.kind === 'and') {
    return [...checkTogether(condition.all, placeOf), ...condition.all.flatMap((part) => findContradictions(part, placeOf))];
  }
  return condition.kind === 'or' ? condition.any.flatMap((part) => findContradictions(part, placeOf)) : [];
}
