import { isRecord } from '../../base/is-record.ts';
import type { Context } from '../../cli/command.ts';
import { readInput, readLong } from '../../cli/input.ts';
import { UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { knownActions } from '../../policy/actions.ts';
import { checkRules } from '../../policy/check.ts';
import { parseRule } from '../../policy/parser.ts';
import { printRule } from '../../policy/print.ts';
import { PolicySyntaxError } from '../../policy/syntax-error.ts';

/** Rules of one policy or file. */
export interface RuleSet {
  /** Name of the policy; undefined for bare rules. */
  policy: string | undefined;
  rules: string[];
}

/** Reads the values of `--rule` and similar options: `@FILE` reads a file, `-` stdin. */
export async function readRules({ world }: Context, given: readonly string[]): Promise<string[]> {
  const rules = [];
  for (const each of given) rules.push((await readLong(world, each)).trim());
  return rules;
}

/** Normalises spaces and the case of keywords; returns a rule that cannot be parsed unchanged. */
function normalize(rule: string): string {
  try {
    return printRule(parseRule(rule));
  } catch (error) {
    if (error instanceof PolicySyntaxError) return rule.trim();
    throw error;
  }
}

/** Removes rules from a list. @throws {UsageError} for a rule that is not in the list */
export function removeRules(rules: readonly string[], removed: readonly string[], policy: string): string[] {
  const unwanted = removed.map((rule) => {
    const found = rules.find((each) => each === rule) ?? rules.find((each) => normalize(each) === normalize(rule));
    if (found === undefined)
      throw new UsageError(`policy ${policy} has no rule "${rule}"`, { hint: `cloud policies get ${quoteShell(policy)}` });
    return found;
  });
  return rules.filter((rule) => !unwanted.includes(rule));
}

/** Warns about rules that the service accepts although they grant nothing, or not what they seem to. */
export function warnAbout({ warn }: Pick<Context, 'warn'>, rules: readonly string[]): void {
  for (const { severity, message, place } of checkRules(rules, knownActions())) {
    if (severity === 'warning') warn(`warning: rule ${place.rule + 1}: ${message}`);
  }
}

function readPolicy(value: unknown, at: string): RuleSet {
  const policy = isRecord(value) && typeof value['name'] === 'string' ? value['name'] : undefined;
  const rules = isRecord(value) ? value['rules'] : undefined;
  const list: unknown = typeof rules === 'string' ? [rules] : rules;
  if (!Array.isArray(list)) throw new UsageError(`${at}: has no list of rules`);
  return { policy, rules: list.map(String) };
}

/** Reads one rule a line; empty lines and lines that begin with # are skipped. */
function readLines(text: string): RuleSet {
  const lines = text.split('\n').map((line) => line.trim());
  return { policy: undefined, rules: lines.filter((line) => line !== '' && !line.startsWith('#')) };
}

/** Parses YAML; undefined unless it is a record or a list, because other text is one rule a line. */
async function parseStructure(text: string): Promise<unknown> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text, { logLevel: 'error' });
  if (document.errors.length > 0) return undefined;
  let value: unknown;
  try {
    value = document.toJS();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), {
      hint: 'write the values without anchors and aliases',
      cause: error,
    });
  }
  return typeof value === 'object' && value !== null ? value : undefined;
}

/**
 * Reads the rules in a file: one a line, or YAML or JSON: a policy, a list of policies or of rules, or the output of `cloud rbac export`.
 * @throws {UsageError} for YAML or JSON without rules
 */
export async function readRuleFile({ world }: Context, file: string): Promise<RuleSet[]> {
  const text = (await readInput(world, file)).toString();
  const value = await parseStructure(text);
  const name = file === '-' ? 'stdin' : file;
  if (value === undefined) return [readLines(text)];
  const list: unknown = isRecord(value) && Array.isArray(value['policies']) ? value['policies'] : value;
  if (!Array.isArray(list)) return [readPolicy(value, name)];
  if (list.every((each) => typeof each === 'string')) return [{ policy: undefined, rules: list }];
  return list.map((each, at) => readPolicy(each, `${name}: policy ${at + 1}`));
}
