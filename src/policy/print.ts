import { reservedWords, type Comparison, type Condition, type Identifier, type Identifiers, type Rule } from './rule.ts';

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

function quote(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const escaped = text.replaceAll(/["\\\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (letter) => {
    return shortEscapes[letter] ?? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `"${escaped}"`;
}

/** Quotes a word unless every implementation of the language reads it as one word. */
export function printWord(text: string): string {
  const bare = /^[^\s,():"*\\/=<>!][^\s,()"*\\=<>!]*$/.test(text) && !text.includes('::') && !text.endsWith(':');
  return bare && !reservedWords.has(text.toUpperCase()) ? text : quote(text);
}

/** Quotes a value unless it is a plain word, number, date, IPv4 address or path. */
function printValue(text: string): string {
  return /^[\w./:+-]+$/.test(text) && !text.includes('::') && !reservedWords.has(text.toUpperCase()) ? text : quote(text);
}

function printIdentifier(identifier: Identifier): string {
  if (identifier.kind === 'exact') return printWord(identifier.text);
  if (identifier.kind === 'regex') return `/${identifier.body}/${identifier.flags}::regex`;
  return identifier.parts.map((part) => part.replaceAll('*', '\\*')).join('*');
}

function printIdentifiers(identifiers: Identifiers): string {
  if (identifiers.kind === 'all') return '*';
  const items = identifiers.items.map(printIdentifier);
  const last = items.pop() ?? '';
  return items.length === 0 ? last : `${items.join(', ')} AND ${last}`;
}

function printComparison({ name, type, operator, values }: Comparison): string {
  const left = type === undefined ? printWord(name) : `${printWord(name)}::${type}`;
  if (operator === 'LIKE') return `${left} LIKE ${values.join('')}`;
  const right = values.map(printValue).join(', ');
  return `${left} ${operator} ${operator === 'IN' ? `(${right})` : right}`;
}

/** Binding strength of a condition: a weaker condition inside a stronger one needs parentheses. */
const tightness: Readonly<Record<Condition['kind'], number>> = { or: 0, and: 1, not: 2, comparison: 3 };

function printPart(condition: Condition, outer: number): string {
  const text = printCondition(condition);
  return tightness[condition.kind] < outer ? `(${text})` : text;
}

/** Prints a condition; AND within AND and OR within OR keep their parentheses. */
export function printCondition(condition: Condition): string {
  if (condition.kind === 'or') return condition.any.map((part) => printPart(part, 1)).join(' OR ');
  if (condition.kind === 'and') return condition.all.map((part) => printPart(part, 2)).join(' AND ');
  return condition.kind === 'not' ? `NOT ${printPart(condition.condition, 2)}` : printComparison(condition);
}

/** Prints a rule in its canonical form, which parses to the same rule: keywords in capitals, WHEN before the condition. */
export function printRule({ principals, negative, actions, resources, condition }: Rule): string {
  const words = [
    ...(principals ? [printIdentifiers(principals)] : []),
    negative ? 'CAN NOT' : 'CAN',
    printIdentifiers(actions),
    ...(resources ? [printIdentifiers(resources)] : []),
    ...(condition ? ['WHEN', printCondition(condition)] : []),
  ];
  return words.join(' ');
}
