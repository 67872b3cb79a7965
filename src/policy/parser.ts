/** The parser of the access-policy language: recursive descent over a scanner that is passed the mode of the next token. */
import { parseCondition } from './condition-parser.ts';
import { findPatternProblem } from './pattern.ts';
import { Reader } from './reader.ts';
import { splitRegex, type Identifier, type Identifiers, type Rule } from './rule.ts';
import { PolicySyntaxError, quoteForMessage, type Place } from './syntax-error.ts';
import type { Token } from './scanner.ts';

const everything: ReadonlySet<string> = new Set(['ALL', 'EVERYTHING', 'ANYTHING']);
const conditionWords: ReadonlySet<string> = new Set(['IF', 'WHEN', 'WHERE']);

/** A rule and the places of its identifiers and comparisons in the text. */
export interface PlacedRule {
  rule: Rule;
  /** The place of an identifier, a list of identifiers or a comparison of this rule; offset 0 for any other object. */
  readonly placeOf: (node: object) => Place;
  /** The place of the words `CAN` or `CAN NOT`. */
  can: Place;
}

/** Splits a bare word at its stars; `\*` is a literal star. */
function readFuzzy(text: string): Identifier {
  const parts = [''];
  for (let at = 0; at < text.length; at++) {
    const escaped = text.startsWith('\\*', at);
    if (text[at] === '*') parts.push('');
    else parts[parts.length - 1] += escaped ? '*' : (text[at] ?? '');
    if (escaped) at++;
  }
  const [only = ''] = parts;
  return parts.length === 1 ? { kind: 'exact', text: only } : { kind: 'fuzzy', parts };
}

/** The kind of a list of identifiers: the words for its error messages, and whether a word that begins with a slash may be a path. */
interface ListRole {
  one: string;
  example: string;
  paths: boolean;
}

const principalList: ListRole = { one: 'a principal', example: 'a, b AND c', paths: true };
const actionList: ListRole = { one: 'an action', example: 'getkey, listkeys AND createkey', paths: false };
const resourceList: ListRole = { one: 'a resource', example: '/a, /b AND /c', paths: true };

/** Reads `::regex` directly after an expression, as deployed policies write it. The suffix is optional here. */
function readRegexType(reader: Reader): void {
  const { end } = reader;
  const next = reader.peek('identifier');
  if (next.kind !== '::' || next.offset !== end) return;
  reader.read('identifier');
  const type = reader.read('identifier');
  if (type.kind === 'word' && /^regexp?$/.test(type.text)) return;
  throw reader.createError('the type of an expression is regex: /expression/flags::regex', type);
}

function readRegexIdentifier(reader: Reader, token: Token): Identifier {
  readRegexType(reader);
  const { body, flags } = splitRegex(token.text);
  const problem = findPatternProblem(body, flags);
  if (problem !== undefined) throw reader.createError(problem, token);
  return { kind: 'regex', body, flags };
}

function readIdentifier(reader: Reader, role: ListRole): Identifier {
  const token = reader.read('identifier');
  if (token.kind === 'quoted') {
    if (token.text === '') throw reader.createError(`${role.one} cannot be empty`, token);
    return { kind: 'exact', text: token.text };
  }
  if (token.kind === 'regex') return readRegexIdentifier(reader, token);
  if (token.kind !== 'word') throw reader.createMissingError(role.one, token);
  reader.assertNotReserved(token, role.one);
  if (token.text === '*') throw reader.createError('* means everything and cannot be in a list', token);
  if (token.text.startsWith('/') && !role.paths) throw failRegex(reader, token);
  return readFuzzy(token.text);
}

/** The error for a word that begins with a slash but is not a regular expression. */
function failRegex(reader: Reader, token: Token): PolicySyntaxError {
  return reader.createError('a regular expression is written /expression/flags::regex, with the flags g, i, m, s, u', token);
}

/** Reads `a`, `a AND b`, `a, b AND c`, `a, b, AND c`, `*` or a word for everything. */
function readIdentifiers(reader: Reader, role: ListRole): Identifiers {
  const first = reader.peek('identifier');
  if (first.kind === 'word' && (first.text === '*' || everything.has(first.text.toUpperCase()))) {
    reader.read('identifier');
    return reader.place({ kind: 'all' }, first);
  }
  const items = [reader.placed(first, () => readIdentifier(reader, role))];
  readFurther(reader, role, items);
  return reader.place({ kind: 'list', items }, { offset: first.offset, length: reader.end - first.offset });
}

function readFurther(reader: Reader, role: ListRole, items: Identifier[]): void {
  const readOne = (): void => {
    items.push(reader.placed(reader.peek('identifier'), () => readIdentifier(reader, role)));
  };
  let comma: Token | undefined;
  for (;;) {
    const next = reader.peek('identifier');
    if (next.kind === ',') {
      comma = reader.read('identifier');
      // A comma before AND, in a list of two or more entries.
      if (!(reader.isWord(reader.peek('identifier'), 'AND') && items.length > 1)) readOne();
      continue;
    }
    if (reader.isWord(next, 'AND')) {
      reader.read('identifier');
      readOne();
      refuseMore(reader, role);
      return;
    }
    if (comma) throw reader.createError(`the last entry of a list follows AND, not a comma: ${role.example}`, comma);
    return;
  }
}

function refuseMore(reader: Reader, role: ListRole): void {
  const next = reader.peek('identifier');
  if (next.kind === ',' || reader.isWord(next, 'AND'))
    throw reader.createError(`write AND only before the last entry of a list, and commas before that: ${role.example}`, next);
}

function readCan(reader: Reader): { negative: boolean; place: Place } {
  const can = reader.read('identifier');
  const next = reader.peek('identifier');
  const negative = reader.isWord(next, 'NOT');
  if (negative) reader.read('identifier');
  return { negative, place: { offset: can.offset, length: reader.end - can.offset } };
}

function readPrincipals(reader: Reader): Identifiers | undefined {
  const first = reader.peek('identifier');
  if (first.kind === 'end') throw reader.createError('the rule is empty: write CAN <actions> [WHEN <condition>]', first);
  if (reader.isWord(first, 'CAN')) return undefined;
  const principals = readIdentifiers(reader, principalList);
  const next = reader.peek('identifier');
  if (!reader.isWord(next, 'CAN')) throw reader.createExpectedError('CAN', 'a rule reads CAN <actions> [WHEN <condition>]', next);
  return principals;
}

function isConditionWord(token: Token): boolean {
  return token.kind === 'word' && conditionWords.has(token.text.toUpperCase());
}

function readRule(reader: Reader): { rule: Rule; can: Place } {
  const principals = readPrincipals(reader);
  const { negative, place } = readCan(reader);
  const actions = readIdentifiers(reader, actionList);
  const afterActions = reader.peek('identifier');
  const hasResources = afterActions.kind !== 'end' && !isConditionWord(afterActions);
  if (hasResources) reader.assertNotClosing(afterActions);
  const resources = hasResources ? readIdentifiers(reader, resourceList) : undefined;
  const word = reader.read('identifier');
  if (word.kind !== 'end' && !isConditionWord(word)) {
    reader.assertNotClosing(word);
    throw reader.createError(
      `${quoteForMessage(word.text)} is unexpected: a list needs commas and AND, a condition IF, WHEN or WHERE`,
      word,
    );
  }
  const condition = word.kind === 'end' ? undefined : parseCondition(reader, word);
  const rule: Rule = {
    ...(principals && { principals }),
    negative,
    actions,
    ...(resources && { resources }),
    ...(condition && { condition }),
  };
  return { rule, can: place };
}

/** Parses one rule and keeps the places of its parts, for `checkRules`. @throws {PolicySyntaxError} and nothing else. */
function parsePlacedRule(text: string): PlacedRule {
  const reader = new Reader(text);
  const { rule, can } = readRule(reader);
  return { rule, can, placeOf: (node) => reader.placeOf(node) };
}

/** Parses one rule of the access-policy language, in time proportional to its length. @throws {PolicySyntaxError} and nothing else. */
export function parseRule(text: string): Rule {
  return parsePlacedRule(text).rule;
}

/** The same as `parsePlacedRule`, but returns the error. */
export function tryRule(text: string): PlacedRule | PolicySyntaxError {
  try {
    return parsePlacedRule(text);
  } catch (error) {
    if (error instanceof PolicySyntaxError) return error;
    throw error;
  }
}
