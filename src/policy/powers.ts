import type { compute } from '../api/compute.ts';
import { matchesIdentifier } from './evaluate.ts';
import type { Rule } from './rule.ts';

/** Actions whose grant amounts to a grant of everything in the account, with the reason. */
const powers: ReadonlyMap<string, string> = new Map(
  Object.entries({
    createkey: 'registers keys that sign as the account itself',
    createuserkey: 'registers keys that sign as any user, including administrators',
    createrole: 'creates roles with any policies and members',
    updaterole: 'changes the policies and members of any role',
    updatepolicy: 'rewrites the rules of any policy',
    setroletags: 'tags any resource with the roles of the user',
  } satisfies Partial<Record<Lowercase<keyof typeof compute>, string>>),
);

/** The actions in a rule whose grant amounts to a grant of everything. */
function listPowers({ actions, negative }: Rule): string[] {
  if (negative) return [];
  const names = [...powers.keys()];
  return actions.kind === 'all' ? names : names.filter((name) => actions.items.some((item) => matchesIdentifier(item, name)));
}

/** Describes the rights that a rule amounts to, for a message; undefined for a rule that grants none of these actions. */
export function describePowers(rule: Rule): string | undefined {
  const [first, ...others] = listPowers(rule);
  if (first === undefined) return undefined;
  if (others.length === 0) return `${first} gives full control of the account: it ${powers.get(first) ?? ''}`;
  return `each of ${[first, ...others].join(', ')} gives full control of the account`;
}
