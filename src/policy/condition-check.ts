import { suppliedNames } from './evaluate.ts';
import { nearest as findNearest } from '../base/nearest.ts';
import { findType, listComparisons, nameTypes, type Comparison, type Condition, type TypeName } from './rule.ts';
import { quoteForMessage, type Place } from './syntax-error.ts';
import { types } from './values.ts';
import type { PlacedFinding } from './finding.ts';

type PlaceOf = (node: object) => Place;

const usableNames = new Set([...suppliedNames, ...nameTypes.keys()]);

/** Comparisons of names that no request has; a rule with one never allows. */
export function findUnsupplied(condition: Condition, placeOf: PlaceOf): PlacedFinding[] {
  return listComparisons(condition)
    .filter(({ name }) => !usableNames.has(name))
    .map((comparison) => {
      const nearest = findNearest(comparison.name, usableNames);
      const hint = nearest === undefined ? '' : `: did you mean ${nearest}?`;
      const message = `no request has a ${quoteForMessage(comparison.name)}, and a rule that compares a missing name grants nothing${hint}`;
      return { message, place: placeOf(comparison) };
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
  const moment = ['requesttime', 'date', 'day', 'time'].includes(comparison.name);
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
