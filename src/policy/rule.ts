/** What a rule of the access-policy language consists of (compute document, section 2, "Policy"). Plain data without places in the text. */

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

/** What a rule names: one word as it is, a fuzzy word (the texts between its stars, at least two), or a regular expression. */
export type Identifier = { kind: 'exact'; text: string } | { kind: 'fuzzy'; parts: string[] } | RegexIdentifier;

/** A list of identifiers in order, or everything (`*`, `ALL`). */
export type Identifiers = { kind: 'all' } | { kind: 'list'; items: Identifier[] };

/**
 * One comparison: `name[::type] operator value`. `values` holds the values as written, without quotation marks: several for `IN`,
 * the whole `/body/flags` for `LIKE`, else one. `type` is left out where the rule leaves it out.
 */
export interface Comparison {
  kind: 'comparison';
  name: string;
  type?: TypeName;
  operator: Operator;
  values: string[];
}

/** What must hold for a rule to allow. `and` and `or` have two or more entries. */
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

/** The comparisons of a condition, in the order in which they stand. */
export function listComparisons(condition: Condition): Comparison[] {
  if (condition.kind === 'and') return condition.all.flatMap(listComparisons);
  if (condition.kind === 'or') return condition.any.flatMap(listComparisons);
  return condition.kind === 'not' ? listComparisons(condition.condition) : [condition];
}

/** How many comparisons a condition has; values of IN count as one each. */
export function countComparisons(condition: Condition | undefined): number {
  if (condition === undefined) return 0;
  if (condition.kind === 'comparison') return condition.values.length;
  if (condition.kind === 'not') return countComparisons(condition.condition);
  const parts = condition.kind === 'and' ? condition.all : condition.any;
  return parts.reduce((sum, part) => sum + countComparisons(part), 0);
}

/** Words that are identifiers only between double quotation marks, in any case. */
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

/** Names that need no type in a rule, with the type they have. */
export const nameTypes: ReadonlyMap<string, TypeName> = new Map<string, TypeName>([
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

/** The type of a comparison's name: the one written, else the one the name is known for. */
export function findType(comparison: Pick<Comparison, 'name' | 'type'>): TypeName | undefined {
  return comparison.type ?? nameTypes.get(comparison.name);
}

/** Takes `/body/flags` apart at its last slash. */
export function splitRegex(source: string): { body: string; flags: string } {
  const last = source.lastIndexOf('/');
  return { body: source.slice(1, last), flags: source.slice(last + 1) };
}
