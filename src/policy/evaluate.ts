import { matchesParts } from '../base/wildcards.ts';
import { createUnlimitedBudget, isExhausted, type Budget } from './budget.ts';
import { compilePattern, type Pattern } from './pattern.ts';
import { findFormerWord } from './former-words.ts';
import { printCondition } from './print.ts';
import {
  findType,
  splitRegex,
  type Comparison,
  type Condition,
  type Identifier,
  type Identifiers,
  type RegexIdentifier,
  type Rule,
} from './rule.ts';
import { compileTest, type ValueTest } from './values.ts';

/** The request that a rule is evaluated for. */
export interface RuleRequest {
  /** Operation in lower case: `getkey`. */
  action: string;
  /** Path with the account's login: `/demo/keys/laptop`; a resource with several paths matches by any of them. */
  resource: string | readonly string[];
  /** Milliseconds since the epoch; conditions on time, day and date use it, in UTC. */
  now: number;
  method?: string | undefined;
  /** Address of the client. */
  sourceip?: string | undefined;
  userAgent?: string | undefined;
  /** Names of the roles that are active. */
  activeRoles?: readonly string[] | undefined;
  datacenter?: string | undefined;
  /** Further names that conditions may use, such as `fromjob`; the names above take precedence. */
  conditions?: Readonly<Record<string, unknown>> | undefined;
}

/** Names that conditions can use in every request (compute-decisions, "The rule language"). */
export const suppliedNames: readonly string[] = Object.keys(supplyValues({ action: '', resource: '', now: 0 }));

/** The result of a rule for a request. Only `allows` grants anything; no outcome revokes a grant of another rule. */
export type Outcome =
  | 'allows'
  | 'not-action'
  | 'not-resource'
  | 'principal'
  | 'negative'
  | 'condition-false'
  | 'missing-name'
  /** The budget is exhausted. */
  | 'too-complex';

export interface RuleResult {
  outcome: Outcome;
  /** For `condition-false` the condition that is false, for `missing-name` the name; empty otherwise. */
  detail: string;
}

type Values = ReadonlyMap<string, unknown>;

function supplyValues(request: RuleRequest): Readonly<Record<string, unknown>> {
  const now = Number.isNaN(new Date(request.now).getTime()) ? undefined : new Date(request.now);
  return {
    requesttime: now,
    date: now,
    day: now,
    time: now,
    method: request.method?.toLowerCase(),
    sourceip: request.sourceip,
    ip: request.sourceip,
    'user-agent': request.userAgent,
    activeRoles: request.activeRoles,
    activeroles: request.activeRoles,
    datacenter: request.datacenter,
  };
}

function collectValues(request: RuleRequest): Values {
  const given = Object.entries(supplyValues(request)).filter(([, value]) => value !== undefined);
  return new Map([...Object.entries(request.conditions ?? {}), ...given]);
}

const patterns = new WeakMap<RegexIdentifier, Pattern>();
const tests = new WeakMap<Comparison, ValueTest>();

function findPattern(identifier: RegexIdentifier): Pattern {
  const pattern = patterns.get(identifier) ?? compilePattern(identifier.body, identifier.flags);
  patterns.set(identifier, pattern);
  return pattern;
}

/** The values of a comparison. `method` is supplied in lower case, so its values are compared without regard to case. */
function readValues({ name, operator, values }: Comparison): readonly string[] {
  if (name !== 'method') return values;
  if (operator !== 'LIKE') return values.map((value) => value.toLowerCase());
  return values.map((value) => (splitRegex(value).flags.includes('i') ? value : `${value}i`));
}

function findTest(comparison: Comparison): ValueTest {
  const type = findType(comparison);
  const test =
    tests.get(comparison) ?? (type === undefined ? () => undefined : compileTest(type, comparison.operator, readValues(comparison)));
  tests.set(comparison, test);
  return test;
}

/** True if an identifier matches a word (case-sensitive): exact text equals it, a fuzzy word matches all of it, an expression any part. */
export function matchesIdentifier(identifier: Identifier, word: string, budget: Budget = createUnlimitedBudget()): boolean {
  budget.left -= 1;
  if (identifier.kind === 'exact') return identifier.text === word;
  if (identifier.kind === 'fuzzy') return matchesParts(word, identifier.parts);
  return findPattern(identifier)(word, budget) === true;
}

function matchesAny(identifiers: Identifiers, word: string, budget: Budget): boolean {
  return identifiers.kind === 'all' || identifiers.items.some((item) => matchesIdentifier(item, word, budget));
}

function matchesSome(identifiers: Identifiers, words: string | readonly string[], budget: Budget): boolean {
  return typeof words === 'string' ? matchesAny(identifiers, words, budget) : words.some((word) => matchesAny(identifiers, word, budget));
}

/** True if a word of earlier policies that names no operation stood for this action. */
function matchesFormerly(identifiers: Identifiers, action: string): boolean {
  if (identifiers.kind === 'all') return false;
  return identifiers.items.some((item) => item.kind === 'exact' && findFormerWord(item.text)?.includes(action) === true);
}

/** `missing` also means that the request's value does not fit the type, so that NOT never turns an invalid value into a permission. */
type Answer = { holds: boolean; because: Condition } | { missing: string };

function evaluateComparison(comparison: Comparison, values: Values, budget: Budget): Answer {
  const value = values.get(comparison.name);
  const holds = value === undefined || value === null ? undefined : findTest(comparison)(value, budget);
  return holds === undefined ? { missing: comparison.name } : { holds, because: comparison };
}

/** The first part that decides, from left to right; later parts are not evaluated. */
function evaluateParts(parts: readonly Condition[], deciding: boolean, whole: Condition, values: Values, budget: Budget): Answer {
  for (const part of parts) {
    const answer = evaluateCondition(part, values, budget);
    if ('missing' in answer) return answer;
    if (answer.holds === deciding) return answer;
  }
  return { holds: !deciding, because: whole };
}

function evaluateCondition(condition: Condition, values: Values, budget: Budget): Answer {
  if (condition.kind === 'and') return evaluateParts(condition.all, false, condition, values, budget);
  if (condition.kind === 'or') return evaluateParts(condition.any, true, condition, values, budget);
  if (condition.kind === 'comparison') return evaluateComparison(condition, values, budget);
  const answer = evaluateCondition(condition.condition, values, budget);
  return 'missing' in answer ? answer : { holds: !answer.holds, because: condition };
}

/**
 * Evaluates a rule for a request. Conditions are evaluated from left to right, and only as far as needed. The rule does not allow the
 * request when a name that is needed is missing or its value does not fit the type, whatever the rest of the condition is, nor when the
 * budget is exhausted. Never throws.
 */
export function evaluateRule(rule: Rule, request: RuleRequest, budget: Budget = createUnlimitedBudget()): RuleResult {
  const result = evaluateWithin(rule, request, budget);
  return isExhausted(budget) ? { outcome: 'too-complex', detail: '' } : result;
}

function evaluateWithin(rule: Rule, request: RuleRequest, budget: Budget): RuleResult {
  if (!matchesAny(rule.actions, request.action, budget) && !matchesFormerly(rule.actions, request.action))
    return { outcome: 'not-action', detail: '' };
  if (rule.principals && rule.principals.kind !== 'all') return { outcome: 'principal', detail: '' };
  if (rule.negative) return { outcome: 'negative', detail: '' };
  if (rule.resources && !matchesSome(rule.resources, request.resource, budget)) return { outcome: 'not-resource', detail: '' };
  if (!rule.condition) return { outcome: 'allows', detail: '' };
  const answer = evaluateCondition(rule.condition, collectValues(request), budget);
  if ('missing' in answer) return { outcome: 'missing-name', detail: answer.missing };
  return answer.holds ? { outcome: 'allows', detail: '' } : { outcome: 'condition-false', detail: printCondition(answer.because) };
}
