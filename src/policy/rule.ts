/** The syntax tree of a rule of the access-policy language (compute document, section 2, "Policy"), without places in the text. */

/** The types that a condition's name can have. */
export const typeNames = ['array', 'boolean', 'date', 'day', 'ip', 'number', 'string', 'time'] as const;
export type TypeName = (typeof typeNames)[number];

/** The operators of conditions, in the spelling that is printed. */
export const operators = ['=', '!=', '<', '>', '<=', '>=', 'IN', 'LIKE', 'CONTAINS'] as const;
export type Operator = (typeof operators)[number];

/** A regular expression between its slashes, and its flags. */
export interface RegexIdentifier {
  kind: 'regex';
  body: string;
  flags: string;
}

/** What a rule names: one exact word, a fuzzy word (the texts between its stars, at least two), or a regular expression. */
export type Identifier = { kind: 'exact'; text: string } | { kind: 'fuzzy'; parts: string[] } | RegexIdentifier;

/** A list of identifiers in order, or everything (`*`, `ALL`). */
export type Identifiers = { kind: 'all' } | { kind: 'list'; items: Identifier[] };

/**
 * One comparison: `name[::type] operator value`. `values` holds the values as written, without quotation marks: one or more for `IN`, the
 * whole `/body/flags` for `LIKE`, else one. `type` is absent when the rule does not write it.
 */
export interface Comparison {
  kind: 'comparison';
  name: string;
  type?: TypeName;
  operator: Operator;
  values: string[];
}

/** The condition under which a rule allows. `and` and `or` have two or more entries. */
export type Condition =
  | { kind: 'or'; any: Condition[] }
  | { kind: 'and'; all: Condition[] }
  | { kind: 'not'; condition: Condition }
  | Comparison;

/** A rule: `[principals] CAN [NOT] actions [resources] [WHEN condition]`. */
export interface Rule {
  principals?: Identifiers;
  /** True for `CAN NOT`, which neither grants nor denies. */
  negative: boolean;
  actions: Identifiers;
  resources?: Identifiers;
  condition?: Condition;
}

/** The comparisons of a condition, in source order. */
export function listComparisons(condition: Condition): Comparison[] {
  if (condition.kind === 'and') return condition.all.flatMap(listComparisons);
  if (condition.kind === 'or') return condition.any.flatMap(listComparisons);
  return condition.kind === 'not' ? listComparisons(condition.condition) : [condition];
}

/** Number of comparisons in a condition; each value of IN counts as one. */
export function countComparisons(condition: Condition | undefined): number {
  if (condition === undefined) return 0;
  if (condition.kind === 'comparison') return condition.values.length;
  if (condition.kind === 'not') return countComparisons(condition.condition);
  const parts = condition.kind === 'and' ? condition.all : condition.any;
  return parts.reduce((sum, part) => sum + countComparisons(part), 0);
}

/** Words that, in any case, are identifiers only between double quotation marks. */
export const reservedWords: ReadonlySet<string> = new Set([
  'AND',
  'OR',
  'NOT',
  'CAN',
  'TO',
  'IF',
  'WHEN',
  'WHERE',
  'ALL',
  'EVERYTHING',
  'ANYTHING',
  'IN',
]);

/** Names that need no type in a rule, with their types. */
const nameTypes: ReadonlyMap<string, TypeName> = new Map<string, TypeName>([
  ['activeroles', 'array'],
  ['activeRoles', 'array'],
  ['date', 'date'],
  ['day', 'day'],
  ['fromjob', 'boolean'],
  ['method', 'string'],
  ['overwrite', 'boolean'],
  ['owner', 'string'],
  ['sourceip', 'ip'],
  ['time', 'time'],
  ['user-agent', 'string'],
]);

/** The type of a comparison's name: the one written, else the known type of the name. */
export function findType(comparison: Pick<Comparison, 'name' | 'type'>): TypeName | undefined {
  return comparison.type ?? nameTypes.get(comparison.name);
}

/** Splits `/body/flags` at its last slash. */
export function splitRegex(source: string): { body: string; flags: string } {
  const last = source.lastIndexOf('/');
  return { body: source.slice(1, last), flags: source.slice(last + 1) };
}
