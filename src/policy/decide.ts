import { setNewest } from '../base/newest.ts';
import { createUnlimitedBudget, isExhausted, type Budget } from './budget.ts';
import { evaluateRule, type Outcome, type RuleRequest } from './evaluate.ts';
import { tryRule } from './parser.ts';
import { PolicySyntaxError } from './syntax-error.ts';
import type { Rule } from './rule.ts';

/** The role whose members may do everything in the account. */
export const administratorRole = 'administrator';

/** A role of the account, as seen by the caller. */
export interface CallerRole {
  name: string;
  /** `default`: the caller is a member, and the role is active without being requested. */
  membership: 'none' | 'member' | 'default';
  policies: readonly { name: string; rules: readonly string[] }[];
}

/** The caller: the account itself, one of its sub-users, or another account (which has only the roles that name it). */
export interface DecisionCaller {
  kind: 'account' | 'user' | 'other-account';
  login: string;
}

/**
 * The target of an operation: the collection for listing and creating, else the member. `missing` is a member that a request to read finds
 * missing, with the tags of its collection, so that the response may be 404. `none` if the operation concerns no resource.
 */
export interface DecisionResource {
  /** With the account's login, as the request writes it: `/demo/keys`, `/demo/keys/laptop`, `/demo`. */
  path: string;
  /** All paths of the resource, with names and with ids, to which the resources in rules are compared; default: `path`. */
  paths?: readonly string[] | undefined;
  kind: 'account' | 'collection' | 'member' | 'missing' | 'none';
  /** Names of the roles that the resource itself is tagged with. */
  tags: readonly string[];
}

export interface DecisionInput {
  caller: DecisionCaller;
  /** Roles of the account. Roles without any tie to the caller may be left out unless the request names them. */
  roles: readonly CallerRole[];
  /** Roles that the request names (`as-role`, `Role`); undefined if none. `*` means all roles of the caller. */
  named?: readonly string[] | undefined;
  resource: DecisionResource;
  /** Operation in lower case. */
  action: string;
  /** Steps that the decision may take; unlimited when absent. */
  budget?: Budget | undefined;
  /** Request values that conditions compare. */
  context: Omit<RuleRequest, 'action' | 'resource' | 'activeRoles'>;
}

/** The reason for a permission. */
export type Grant =
  | { kind: 'account' }
  /** Every authenticated caller may do it. */
  | { kind: 'authenticated' }
  | { kind: 'administrator'; role: string }
  /** `tag` is the role tag that the rule required; undefined when the rule's own resource `*` made it unnecessary. */
  | { kind: 'rule'; role: string; policy: string; rule: string; tag?: string };

/** The first requirement that one role did not meet. */
export type Missing = 'no-role' | 'unknown-role' | 'not-member' | 'no-policy' | 'broken-rule' | 'no-tag' | Exclude<Outcome, 'allows'>;

export interface Reason {
  missing: Missing;
  /** The role; undefined only for `no-role`. */
  role?: string;
  /** The rule that came closest to allowing the request, and its policy. */
  policy?: string;
  rule?: string;
  /** The `detail` of the evaluation: a condition or a name; for `broken-rule` the parser's message. */
  detail?: string;
}

interface Question {
  caller: DecisionCaller;
  action: string;
  path: string;
  kind: DecisionResource['kind'];
}

export type Decision =
  | { allowed: true; question: Question; because: Grant }
  | {
      allowed: false;
      question: Question;
      /** One for each role that was evaluated. */
      reasons: Reason[];
      /** The caller's inactive roles that would allow the request. */
      inactive: string[];
    };

/** The roles that are active for a request, and the requested roles that cannot be. */
export interface Activation<R> {
  active: R[];
  refused: { role: string; missing: 'unknown-role' | 'not-member' }[];
}

/** The active roles (compute document, "Access-control rules", 3): the requested ones, else the default ones. */
export function activateRoles<R extends Pick<CallerRole, 'name' | 'membership'>>(
  roles: readonly R[],
  named: readonly string[] | undefined,
): Activation<R> {
  if (named === undefined) return { active: roles.filter((role) => role.membership === 'default'), refused: [] };
  const names = new Set(named.includes('*') ? roles.filter((role) => role.membership !== 'none').map((role) => role.name) : named);
  const active = roles.filter((role) => names.has(role.name) && role.membership !== 'none');
  const existing = new Set(roles.map((role) => role.name));
  const activeNames = new Set(active.map((role) => role.name));
  const refused = [...names]
    .filter((name) => !activeNames.has(name))
    .map((name) => ({ role: name, missing: existing.has(name) ? ('not-member' as const) : ('unknown-role' as const) }));
  return { active, refused };
}

const mostCached = 2000;
const cached = new Map<string, Rule | PolicySyntaxError>();

/** Parses a rule; undefined if the budget is exhausted. Stored rules are few and needed at each request: the last `mostCached` are kept. */
function readRule(text: string, budget: Budget): Rule | PolicySyntaxError | undefined {
  const known = cached.get(text);
  if (known) return known;
  // Parsing takes up to 100 ns for each character.
  budget.left -= text.length * 10;
  if (isExhausted(budget)) return undefined;
  const placed = tryRule(text);
  const parsed = placed instanceof PolicySyntaxError ? placed : placed.rule;
  setNewest(cached, text, parsed, mostCached);
  return parsed;
}

/** How close each failure is to a permission: the failure with the highest number is reported. */
const progress: Readonly<Record<Missing, number>> = {
  'no-role': 0,
  'unknown-role': 0,
  'not-member': 0,
  'no-policy': 0,
  'not-action': 1,
  'too-complex': 7,
  'broken-rule': 2,
  principal: 3,
  negative: 3,
  'not-resource': 4,
  'missing-name': 5,
  'condition-false': 5,
  'no-tag': 6,
};

interface Asked extends DecisionInput {
  readonly budget: Budget;
}

function askRule(role: CallerRole, policy: string, text: string, input: Asked, active: readonly string[]): Grant | Reason {
  const place = { role: role.name, policy, rule: text };
  input.budget.left -= 10;
  const rule = readRule(text, input.budget);
  if (rule === undefined) return { missing: 'too-complex', ...place };
  if (rule instanceof PolicySyntaxError) return { missing: 'broken-rule', ...place, detail: rule.message };
  const request = { ...input.context, action: input.action, resource: input.resource.paths ?? input.resource.path, activeRoles: active };
  const { outcome, detail } = evaluateRule(rule, request, input.budget);
  if (outcome !== 'allows') return { missing: outcome, ...place, ...(detail !== '' && { detail }) };
  if (rule.resources?.kind === 'all') return { kind: 'rule', ...place };
  return input.resource.tags.includes(role.name) ? { kind: 'rule', ...place, tag: role.name } : { missing: 'no-tag', ...place };
}

/** The decision of one role: a grant, or the first unmet requirement of the rule that came closest. */
function askRole(role: CallerRole, input: Asked, active: readonly string[]): Grant | Reason {
  if (role.name === administratorRole) return { kind: 'administrator', role: role.name };
  let nearest: Reason = { missing: 'no-policy', role: role.name };
  for (const policy of role.policies) {
    for (const text of policy.rules) {
      const answer = askRule(role, policy.name, text, input, active);
      if ('kind' in answer || answer.missing === 'too-complex') return answer;
      if (progress[answer.missing] > progress[nearest.missing]) nearest = answer;
    }
  }
  return nearest.missing === 'not-action' ? { missing: 'not-action', role: role.name } : nearest;
}

function findInactive(input: Asked, active: readonly CallerRole[]): string[] {
  const known = new Set(active);
  const others = input.roles.filter((role) => role.membership !== 'none' && !known.has(role));
  return others.filter((role) => 'kind' in askRole(role, input, [role.name])).map((role) => role.name);
}

/**
 * Decides whether a caller may do an action on a resource, and why. Both services and `policies simulate` decide here, in the order of
 * compute-decisions, "Roles, policies, tags, access". The default is to deny. Requesting a role that the caller does not have denies
 * everything.
 * A decision that exceeds its budget denies too, whatever the remaining rules say.
 * The tags that count are those of the collection for listing and creating, else those of the member alone.
 */
export function decide(input: DecisionInput): Decision {
  const { caller, action, resource } = input;
  const question: Question = { caller, action, path: resource.path, kind: resource.kind };
  if (caller.kind === 'account') return { allowed: true, question, because: { kind: 'account' } };
  const { active, refused } = activateRoles(input.roles, input.named);
  if (refused.length > 0) return { allowed: false, question, reasons: refused, inactive: [] };
  if (resource.kind === 'none') return { allowed: true, question, because: { kind: 'authenticated' } };
  const administrator = active.find((role) => role.name === administratorRole);
  const ordered = administrator ? [administrator, ...active] : active;
  const names = active.map((role) => role.name);
  const reasons: Reason[] = active.length === 0 ? [{ missing: 'no-role' }] : [];
  const asked: Asked = { ...input, budget: input.budget ?? createUnlimitedBudget() };
  for (const role of ordered) {
    const answer = askRole(role, asked, names);
    if ('kind' in answer) return { allowed: true, question, because: answer };
    reasons.push(answer);
    if (answer.missing === 'too-complex') return { allowed: false, question, reasons, inactive: [] };
  }
  return { allowed: false, question, reasons, inactive: findInactive(asked, active) };
}
