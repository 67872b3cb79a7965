import { command, type Context } from '../../cli/command.ts';
import { one } from '../../cli/parameters.ts';
import { exitCodes, PartialError } from '../../base/errors.ts';
import { andThen, mapEach } from '../../base/iterate.ts';
import { escapeControl } from '../../output/escape.ts';
import { bytes, records } from '../../output/kinds.ts';
import { knownActions } from '../../policy/actions.ts';
import { checkRules } from '../../policy/check.ts';
import type { Finding } from '../../policy/finding.ts';
import { findOmissions } from '../../policy/omissions.ts';
import { pointAt } from '../../policy/syntax-error.ts';
import { wantsText } from '../rbac/show.ts';
import { readRuleFile, type RuleSet } from './rules.ts';
import { countOf } from '../../base/count.ts';

/** A finding as it is shown. */
interface Row {
  severity: Finding['severity'];
  policy?: string;
  /** Number of the rule within the policy, from 1. */
  rule: number;
  message: string;
  suggestion?: string;
  text: string;
  /** Position and length of the finding in `text`, characters. */
  offset: number;
  length: number;
}

function checkSet({ policy, rules }: RuleSet): Row[] {
  return [...checkRules(rules, knownActions()), ...findOmissions(rules)].map(({ severity, message, place, suggestion }) => ({
    severity,
    ...(policy !== undefined && { policy }),
    rule: place.rule + 1,
    message,
    ...(suggestion !== undefined && { suggestion }),
    text: rules[place.rule] ?? '',
    offset: place.offset,
    length: place.length,
  }));
}

function printRow({ severity, policy, rule, message, text, offset, length }: Row): string {
  const where = policy === undefined ? `rule ${rule}` : `policy ${policy}, rule ${rule}`;
  const lines = [`${where}: ${severity}: ${message}`, ...pointAt(text, { offset, length }).map((line) => `  ${line}`)];
  return `${lines.map(escapeControl).join('\n')}\n`;
}

/** Prints the number of findings. @throws {PartialError} if there are errors */
function conclude({ note, args }: Pick<Context, 'note'> & { args: { file: string } }, rows: readonly Row[], rules: number): void {
  const errors = rows.filter(({ severity }) => severity === 'error').length;
  const warnings = countOf(rows.length - errors, 'warning');
  if (errors > 0)
    throw new PartialError(
      `${args.file === '-' ? 'stdin' : args.file}: ${countOf(errors, 'error')} and ${warnings} in ${countOf(rules, 'rule')}`,
      {
        allFailed: exitCodes.failed,
        hint: 'the policy language: cloud help policy-language',
      },
    );
  note(`${countOf(rules, 'rule')}, ${rows.length === 0 ? 'no errors or warnings' : `${warnings}, no errors`}`);
}

export const check = command({
  summary: 'Check rules without a service: syntax, unknown actions, rules that grant nothing',
  description:
    'FILE has one rule per line, or is YAML or JSON: a policy, a list of policies or of rules, or the output of cloud rbac export. Errors are rules that the service refuses; they set the exit code 1. Warnings are rules that the service accepts, but that grant nothing, differ between services, or grant full control of the account.',
  arguments: { file: one('File with rules; - for stdin', { values: 'file' }) },
  run: async (invocation) => {
    const { args } = invocation;
    const sets = await readRuleFile(invocation, args.file);
    const rows = sets.flatMap(checkSet);
    const rules = sets.reduce((sum, set) => sum + set.rules.length, 0);
    const shown = andThen(rows, () => conclude(invocation, rows, rules));
    if (wantsText(invocation)) return bytes(mapEach(shown, (row) => Buffer.from(printRow(row))));
    return records(shown, {
      columns: ['severity', 'policy', 'rule', 'message'],
      id: 'message',
      fields: ['text', 'suggestion', 'offset', 'length'],
    });
  },
  examples: [
    { line: "echo 'CAN listkeys AND getkey WHEN day = mon' | cloud policies check -", help: 'One rule' },
    { line: 'cloud policies list -j | cloud policies check -', help: 'Every policy of the account' },
  ],
});
