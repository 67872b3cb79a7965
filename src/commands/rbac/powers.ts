import type { Context } from '../../cli/command.ts';
import { administratorRole } from '../../policy/decide.ts';
import { parseRule } from '../../policy/parser.ts';
import { describePowers } from '../../policy/powers.ts';
import { PolicySyntaxError } from '../../policy/syntax-error.ts';
import type { Change } from '../../rbac/change.ts';

function describeRule(text: string): string | undefined {
  try {
    return describePowers(parseRule(text));
  } catch (error) {
    // The service reports the syntax error.
    if (error instanceof PolicySyntaxError) return undefined;
    throw error;
  }
}

/** Rules that a change adds to a policy. */
function listAdded({ differences }: Change): string[] {
  return differences.flatMap(({ field, from, to }) => {
    if (field !== 'rules' || !Array.isArray(to)) return [];
    const before = new Set(Array.isArray(from) ? from.map(String) : []);
    return to.map(String).filter((rule) => !before.has(rule));
  });
}

function describeChange(change: Change): string[] {
  const { action, kind, name, differences } = change;
  if (action === 'delete') return [];
  if (kind === 'policy')
    return listAdded(change)
      .flatMap((rule) => describeRule(rule) ?? [])
      .map((words) => `policy ${name}: ${words}`);
  const isMade =
    kind === 'role' && (name === administratorRole || differences.some(({ field, to }) => field === 'name' && to === administratorRole));
  return isMade ? [`role ${name}: members of ${administratorRole} may do everything in the account`] : [];
}

/** Warns about changes that grant a right to everything. */
export function warnAboutPowers({ warn }: Pick<Context, 'warn'>, changes: readonly Change[]): void {
  for (const words of changes.flatMap(describeChange)) warn(`warning: ${words}`);
}
