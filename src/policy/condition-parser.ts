import { nearest as findNearest } from '../base/nearest.ts';
import { findPatternProblem } from './pattern.ts';
import { findType, operators, splitRegex, typeNames, type Comparison, type Condition, type Operator, type TypeName } from './rule.ts';
import { areFlags, type Token } from './scanner.ts';
import { quoteForMessage } from './syntax-error.ts';
import { fitsType, types } from './values.ts';
import type { Reader } from './reader.ts';

/** Deepest nesting of parentheses and NOTs in a condition. */
const deepestCondition = 100;

/** Reads the condition that follows IF, WHEN or WHERE, up to the end of the rule. @throws {PolicySyntaxError} */
export function parseCondition(reader: Reader, word: Token): Condition {
  if (reader.peek('name').kind === 'end')
    throw reader.createError(`a condition is missing after ${word.text.toUpperCase()}`, reader.peek('name'));
  const condition = readOr(reader, 0);
  const next = reader.peek('name');
  reader.assertNotClosing(next);
  if (next.kind !== 'end') throw reader.createError(`conditions are joined by AND or OR, not by ${quoteForMessage(next.text)}`, next);
  return condition;
}

function readJoined(reader: Reader, word: string, readPart: () => Condition): Condition[] {
  const parts = [readPart()];
  while (reader.isWord(reader.peek('name'), word)) {
    reader.read('name');
    parts.push(readPart());
  }
  return parts;
}

function readOr(reader: Reader, depth: number): Condition {
  const any = readJoined(reader, 'OR', () => readAnd(reader, depth));
  const [only] = any;
  return only && any.length === 1 ? only : { kind: 'or', any };
}

function readAnd(reader: Reader, depth: number): Condition {
  const all = readJoined(reader, 'AND', () => readNot(reader, depth));
  const [only] = all;
  return only && all.length === 1 ? only : { kind: 'and', all };
}

function readNot(reader: Reader, depth: number): Condition {
  const next = reader.peek('name');
  if (depth > deepestCondition)
    throw reader.createError(`the condition has more than ${deepestCondition} nested parentheses or NOTs`, next);
  if (reader.isWord(next, 'NOT')) {
    reader.read('name');
    return { kind: 'not', condition: readNot(reader, depth + 1) };
  }
  if (next.kind !== '(') return reader.placed(next, () => readComparison(reader));
  reader.read('name');
  const inner = readOr(reader, depth + 1);
  const close = reader.read('name');
  if (close.kind === 'end') throw reader.createError('this parenthesis is never closed', next);
  if (close.kind !== ')') throw reader.createError(`conditions are joined by AND or OR, not by ${quoteForMessage(close.text)}`, close);
  return inner;
}

function readName(reader: Reader): Token {
  const token = reader.read('name');
  if (token.kind !== 'word' && token.kind !== 'quoted') throw reader.createMissingError('a condition', token);
  reader.assertNotReserved(token, 'a condition');
  if (token.text === '' || (token.kind === 'word' && /^[=<>!]/.test(token.text)))
    throw reader.createError('the name that is compared is missing', token);
  return token;
}

function isTypeName(word: string): word is TypeName {
  return typeNames.some((name) => name === word);
}

function readType(reader: Reader): TypeName | undefined {
  if (reader.peek('name').kind !== '::') return undefined;
  reader.read('name');
  const token = reader.read('name');
  if (token.kind !== 'word' && token.kind !== 'quoted') throw reader.createMissingError('a type', token);
  if (isTypeName(token.text)) return token.text;
  const nearest = findNearest(token.text, typeNames);
  const hint = nearest === undefined ? `the types are ${typeNames.join(', ')}` : `did you mean ${nearest}?`;
  throw reader.createError(`${quoteForMessage(token.text)} is not a type: ${hint}`, token);
}

/** The types most likely meant for a name without a type, for the hint. */
const likelyTypes: ReadonlyMap<string, string> = new Map([
  ['requesttime', 'time, requesttime::day or requesttime::date'],
  ['ip', 'ip'],
  ['datacenter', 'string'],
]);

function failUntyped(reader: Reader, name: Token) {
  const likely = likelyTypes.get(name.text);
  const shown = /^[\w-]{1,40}$/.test(name.text) ? name.text : 'name';
  const form = `${shown}::${likely ?? 'string'}`;
  return reader.createError(`${quoteForMessage(name.text)} has no known type: add one, such as ${form}`, name);
}

function readOperator(reader: Reader, type: TypeName): Operator {
  const token = reader.read('operator');
  if (token.kind !== 'word') throw reader.createMissingError('an operator', token);
  const operator = operators.find((each) => each === token.text.toUpperCase());
  const available = types[type].operators;
  const list = available.join(' ');
  if (operator === undefined) {
    if (!/^[=<>!]/.test(token.text)) reader.assertNotReserved(token, 'an operator');
    throw reader.createError(`${quoteForMessage(token.text)} is not an operator: the type ${type} has ${list}`, token);
  }
  if (!available.includes(operator)) throw reader.createError(`the type ${type} has no operator ${operator}: it has ${list}`, token);
  return operator;
}

function readValue(reader: Reader, type: TypeName): string {
  const token = reader.read('value');
  if (token.kind !== 'word' && token.kind !== 'quoted') throw reader.createMissingError('a value', token);
  reader.assertNotReserved(token, 'a value');
  if (!fitsType(type, token.text))
    throw reader.createError(`${quoteForMessage(token.text)} does not fit the type ${type}: it takes ${types[type].expects}`, token);
  return token.text;
}

function readValues(reader: Reader, type: TypeName): string[] {
  const open = reader.read('value');
  if (open.kind !== '(') throw reader.createError('IN takes a list in parentheses: IN (a, b)', open);
  const values = [readValue(reader, type)];
  for (;;) {
    const next = reader.read('value');
    if (next.kind === ')') return values;
    if (next.kind === 'end') throw reader.createError('this parenthesis is never closed', open);
    if (next.kind !== ',') throw reader.createError(`the values of IN are separated by commas: IN (a, b)`, next);
    values.push(readValue(reader, type));
  }
}

/** Escapes bare slashes in an expression, so that it can be written without quotation marks. */
function escapeSlashes(body: string): string {
  let inClass = false;
  return body.replaceAll(/\\[^]|[[\]/\n\r]/g, (chunk) => {
    if (chunk === '[') inClass = true;
    if (chunk === ']') inClass = false;
    if (chunk === '\n') return '\\n';
    if (chunk === '\r') return '\\r';
    return chunk === '/' && !inClass ? '\\/' : chunk.replace('\n', 'n').replace('\r', 'r');
  });
}

function readPattern(reader: Reader): string {
  const token = reader.read('pattern');
  if (token.kind === 'end' || token.kind === ')' || token.kind === ',' || token.kind === '(')
    throw reader.createMissingError('a regular expression', token);
  const { body, flags } = splitRegex(token.text);
  if (!/^\/[^]+\/[^/]*$/.test(token.text))
    throw reader.createError('LIKE takes a regular expression: /expression/flags, with the flags g, i, m, s, u', token);
  if (!areFlags(flags)) throw reader.createError(`${quoteForMessage(flags)} are not valid flags: use g, i, m, s, u, each once`, token);
  const problem = findPatternProblem(body, flags);
  if (problem !== undefined) throw reader.createError(problem, token);
  return token.kind === 'quoted' ? `/${escapeSlashes(body)}/${flags}` : token.text;
}

function readComparison(reader: Reader): Comparison {
  const name = readName(reader);
  const written = readType(reader);
  const type = findType({ name: name.text, ...(written && { type: written }) });
  if (type === undefined) throw failUntyped(reader, name);
  const operator = readOperator(reader, type);
  const values = operator === 'IN' ? readValues(reader, type) : operator === 'LIKE' ? [readPattern(reader)] : [readValue(reader, type)];
  return { kind: 'comparison', name: name.text, ...(written && { type: written }), operator, values };
}
