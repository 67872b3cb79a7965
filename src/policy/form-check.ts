import { isCommonDay } from './moments.ts';
import type { PlacedRule } from './parser.ts';
import { findType, listComparisons, type Comparison } from './rule.ts';
import { quoteForMessage } from './syntax-error.ts';
import type { PlacedFinding } from './finding.ts';

/** A form that deployed services reject or interpret differently: the problem, and what to write instead. */
type Difference = Readonly<Omit<PlacedFinding, 'place'>>;

const comparisonParts = /^(?:"(?:[^"\\]|\\.)*"|[^\s"=<>!])*(\s*)(?:[=<>!]+)(\s*)/u;

function findTight(source: string): Difference | undefined {
  const [, before, after] = comparisonParts.exec(source) ?? [];
  if (before === undefined || (before !== '' && after !== '')) return undefined;
  return { message: 'deployed services need spaces around an operator: name = value' };
}

function findValue({ operator, name, type: written }: Comparison, value: string, isQuoted: boolean): Difference | undefined {
  const type = findType({ name, ...(written && { type: written }) });
  if (operator === 'LIKE' && /\s/u.test(value) && !isQuoted)
    return { message: 'deployed services require quotation marks around an expression with spaces: LIKE "/a b/"' };
  if (type === 'ip' && value.includes(':') && !isQuoted)
    return { message: `deployed services require quotation marks around IPv6: "${value}"`, suggestion: `"${value}"` };
  if (type === 'boolean' && value !== value.toLowerCase())
    return {
      message: `deployed services accept true and false in lower case only, not ${quoteForMessage(value)}`,
      suggestion: value.toLowerCase(),
    };
  if (type === 'time' && /^\d{1,2}:\d{2}$/u.test(value)) {
    const whole = `${value.padStart(5, '0')}:00`;
    return { message: `deployed services refuse a time without seconds: write ${whole}`, suggestion: whole };
  }
  if (type === 'day' && /^[a-z]+$/iu.test(value) && !isCommonDay(value))
    return { message: `deployed services do not know the day ${quoteForMessage(value)}: write mon, tue, wed, thu, fri, sat or sun` };
  return undefined;
}

function checkForm(comparison: Comparison, source: string, offset: number): PlacedFinding[] {
  const place = { offset, length: source.length };
  const tight = findTight(source);
  let from = 0;
  const values = comparison.values.flatMap((value): PlacedFinding[] => {
    const isQuoted = source.includes(`"${value}`);
    const difference = findValue(comparison, value, isQuoted);
    const at = source.indexOf(value, from);
    if (at !== -1) from = at + value.length;
    if (difference === undefined) return [];
    const { message, suggestion } = difference;
    // A suggestion replaces the text as written, which cannot be located when it contains an escape.
    if (at === -1 || suggestion === undefined) return [{ message, place }];
    const quotes = source[at - 1] === '"' && suggestion.startsWith('"') ? 1 : 0;
    return [{ message, place: { offset: offset + at - quotes, length: value.length + 2 * quotes }, suggestion }];
  });
  return [...(tight === undefined ? [] : [{ message: tight.message, place }]), ...values];
}

/** Forms in a rule that this parser accepts and deployed services do not. */
export function findForms(text: string, { rule, placeOf }: PlacedRule): PlacedFinding[] {
  const slice = (node: object): { source: string; offset: number } => {
    const { offset, length } = placeOf(node);
    return { source: text.slice(offset, offset + length), offset };
  };
  const lists = [rule.actions, ...(rule.resources ? [rule.resources] : [])];
  const identifiers = lists.flatMap((list) => (list.kind === 'all' ? [] : list.items));
  const bare = identifiers.flatMap((identifier): PlacedFinding[] => {
    const { source } = slice(identifier);
    if (identifier.kind !== 'regex' || /::\s*regexp?$/u.test(source)) return [];
    const message = `deployed services read ${quoteForMessage(source)} as a plain word: write an expression as ${source}::regex`;
    return [{ message, place: placeOf(identifier), suggestion: `${source}::regex` }];
  });
  const comparisons = rule.condition === undefined ? [] : listComparisons(rule.condition);
  return [
    ...bare,
    ...comparisons.flatMap((comparison) => {
      const { source, offset } = slice(comparison);
      return checkForm(comparison, source, offset);
    }),
  ];
}
