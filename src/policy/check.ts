import { findOtherName } from './actions.ts';
import { findFormerWord } from './former-words.ts';
import type { Finding, PlacedFinding } from './finding.ts';
import { findForms } from './form-check.ts';
import { findContradictions, findMoments, findUnsupplied } from './condition-check.ts';
import { matchesIdentifier } from './evaluate.ts';
import { nearest as findNearest } from '../base/nearest.ts';
import { tryRule, type PlacedRule } from './parser.ts';
import { describePowers } from './powers.ts';
import { printRule, printWord } from './print.ts';
import { PolicySyntaxError, quoteForMessage, type Place } from './syntax-error.ts';
import type { Identifier } from './rule.ts';

function nameSome(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
}

function checkExact(word: string, place: Place, known: ReadonlySet<string>): PlacedFinding | undefined {
  if (known.has(word)) return undefined;
  const granted = findFormerWord(word);
  if (granted !== undefined) {
    const current = granted.length === 1 ? granted[0] : undefined;
    const message = `${quoteForMessage(word)} is an obsolete name and grants ${nameSome(granted)}: write ${current ?? 'these'}`;
    return { message, place, ...(current !== undefined && { suggestion: current }) };
  }
  const lower = word.toLowerCase();
  if (lower !== word) {
    const corrected = known.has(lower) ? lower : (findOtherName(lower) ?? findNearest(lower, known) ?? printWord(lower));
    return {
      message: `actions are in lower case: ${quoteForMessage(word)} never matches, write ${corrected}`,
      place,
      suggestion: corrected,
    };
  }
  const nearest = findOtherName(word) ?? findNearest(word, known);
  const message = `${quoteForMessage(word)} is not a known action`;
  return nearest === undefined ? { message, place } : { message: `${message}: did you mean ${nearest}?`, place, suggestion: nearest };
}

/** True if a deployed evaluator finds the parts in an action: it searches anywhere in the action, and only the first star is a wildcard. */
function matchesLoosely(parts: readonly string[], word: string): boolean {
  const [first = '', ...rest] = parts;
  const at = word.indexOf(first);
  return at !== -1 && word.includes(rest.join(''), at + first.length);
}

function checkFuzzy(identifier: Extract<Identifier, { kind: 'fuzzy' }>, place: Place, known: readonly string[]): PlacedFinding | undefined {
  const written = identifier.parts.join('*');
  const strict = known.filter((action) => matchesIdentifier(identifier, action));
  if (strict.length === 0) {
    const lower = written.toLowerCase();
    const message = `${quoteForMessage(written)} matches no known action`;
    return lower === written ? { message, place } : { message: `${message}: actions are in lower case`, place, suggestion: lower };
  }
  const loose = known.filter((action) => matchesLoosely(identifier.parts, action));
  const more = loose.filter((action) => !strict.includes(action));
  const fewer = strict.filter((action) => !loose.includes(action));
  if (more.length === 0 && fewer.length === 0) return undefined;
  const differences = [
    ...(more.length > 0 ? [`also allow ${nameSome(more)}`] : []),
    ...(fewer.length > 0 ? [`not allow ${nameSome(fewer)}`] : []),
  ];
  const message = `${quoteForMessage(written)} must match the whole action here; deployed services match loosely and ${differences.join(', and ')}`;
  return { message: `${message}: to be portable, list the actions`, place };
}

function checkAction(identifier: Identifier, place: Place, known: ReadonlySet<string>): PlacedFinding | undefined {
  if (identifier.kind === 'exact') return checkExact(identifier.text, place, known);
  if (identifier.kind === 'fuzzy') return checkFuzzy(identifier, place, [...known]);
  if ([...known].some((action) => matchesIdentifier(identifier, action))) return undefined;
  return { message: `the regular expression /${identifier.body}/${identifier.flags} matches no known action`, place };
}

function checkResource(identifier: Identifier, place: Place, known: ReadonlySet<string>): PlacedFinding | undefined {
  if (identifier.kind !== 'exact' || identifier.text.startsWith('/')) return undefined;
  const word = quoteForMessage(identifier.text);
  if (known.has(identifier.text.toLowerCase()))
    return { message: `${word} is parsed as a resource, so the rule never matches: separate actions by AND or a comma`, place };
  return { message: `${word} is not a path, so the rule never matches: use role tags for resources, or write *`, place };
}

function checkPrincipals({ rule, placeOf }: PlacedRule): PlacedFinding[] {
  if (!rule.principals || rule.principals.kind === 'all') return [];
  return [{ message: 'a rule with principals never matches: use the members of a role instead', place: placeOf(rule.principals) }];
}

function checkNegative({ rule, can }: PlacedRule): PlacedFinding[] {
  if (!rule.negative) return [];
  return [{ message: 'CAN NOT has no effect: everything is denied until a rule allows it', place: can }];
}

function checkPowers({ rule, placeOf }: PlacedRule): PlacedFinding[] {
  const message = describePowers(rule);
  return message === undefined ? [] : [{ message, place: placeOf(rule.actions) }];
}

function checkPlacedRule(text: string, placed: PlacedRule, known: ReadonlySet<string>): PlacedFinding[] {
  const { rule, placeOf } = placed;
  const { condition } = rule;
  const actions = rule.actions.kind === 'all' ? [] : rule.actions.items;
  const resources = rule.resources?.kind === 'list' ? rule.resources.items : [];
  const words = [
    ...actions.map((identifier) => checkAction(identifier, placeOf(identifier), known)),
    ...resources.map((identifier) => checkResource(identifier, placeOf(identifier), known)),
  ];
  return [
    ...checkPrincipals(placed),
    ...checkNegative(placed),
    ...checkPowers(placed),
    ...findForms(text, placed),
    ...words.filter((finding) => finding !== undefined),
    ...(condition ? [findUnsupplied, findMoments, findContradictions].flatMap((find) => find(condition, placeOf)) : []),
  ];
}

/** Adds the severity and the index of the rule to a finding. */
function locate({ message, place, suggestion }: PlacedFinding, severity: Finding['severity'], rule: number): Finding {
  return { severity, message, place: { ...place, rule }, ...(suggestion !== undefined && { suggestion }) };
}

function checkRule(text: string, index: number, known: ReadonlySet<string>): { findings: Finding[]; canonical: string } {
  const placed = tryRule(text);
  if (placed instanceof PolicySyntaxError) {
    const { problem, offset, length } = placed;
    return { findings: [locate({ message: problem, place: { offset, length } }, 'error', index)], canonical: text };
  }
  const findings = checkPlacedRule(text, placed, known).map((finding) => locate(finding, 'warning', index));
  return { findings, canonical: printRule(placed.rule) };
}

/**
 * Checks the rules of one policy; findings are in the order of the rules. Errors are rules that the service rejects (invalid syntax,
 * duplicates). Warnings are rules that it accepts but that grant nothing, grant everything, or mean different things in different services.
 */
export function checkRules(rules: readonly string[], known: ReadonlySet<string>): Finding[] {
  const texts = new Map<string, number>();
  const canonicals = new Map<string, number>();
  return rules.flatMap((text, index) => {
    const { findings, canonical } = checkRule(text, index, known);
    const same = texts.get(text);
    const alike = canonicals.get(canonical);
    if (same === undefined) texts.set(text, index);
    if (alike === undefined) canonicals.set(canonical, index);
    const place = { offset: 0, length: text.length };
    if (same !== undefined) return [...findings, locate({ message: `this rule is the same as rule ${same + 1}`, place }, 'error', index)];
    if (alike === undefined) return findings;
    return [...findings, locate({ message: `this rule is equivalent to rule ${alike + 1}`, place }, 'warning', index)];
  });
}
