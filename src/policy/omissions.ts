import { matchesIdentifier } from './evaluate.ts';
import type { Finding } from './finding.ts';
import { tryRule, type PlacedRule } from './parser.ts';
import { PolicySyntaxError } from './syntax-error.ts';

function grants({ rule: { actions, negative } }: PlacedRule, action: string): boolean {
  return !negative && (actions.kind === 'all' || actions.items.some((identifier) => matchesIdentifier(identifier, action)));
}

/**
 * Warns about rules that name `putobject` in a policy that does not grant `putmetadata`: policies of deployed services mean both by that
 * word, which here grants only the operation of its name (compute specification, section 2).
 */
export function findOmissions(rules: readonly string[]): Finding[] {
  const placed = rules.map(tryRule);
  if (placed.some((each) => !(each instanceof PolicySyntaxError) && grants(each, 'putmetadata'))) return [];
  return placed.flatMap((each, rule) => {
    if (each instanceof PolicySyntaxError || each.rule.negative || each.rule.actions.kind === 'all') return [];
    const named = each.rule.actions.items.filter((identifier) => identifier.kind === 'exact' && identifier.text === 'putobject');
    return named.map((identifier): Finding => ({
      severity: 'warning',
      message: 'putobject does not grant PutMetadata: to allow changes of stored headers, add putmetadata',
      place: { ...each.placeOf(identifier), rule },
    }));
  });
}
