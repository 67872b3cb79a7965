import { createUnlimitedBudget, isExhausted, type Budget } from './budget.ts';
import { evaluateRule, type Outcome, type RuleRequest } from './evaluate.ts';
import { parseRule } from './parser.ts';
import { PolicySyntaxError } from './syntax-error.ts';
import type { Rule } from './rule.ts';

/** The role whose members may do everything in the account. */
export const administratorRole = 'administrator';

/** A role of the account as it stands to the caller. */
export interface CallerRole {
  name: string;
  /** Whether the caller is a member, and has the role active without asking for it. */
  membership: 'none' | 'member' | 'default';
  policies: readonly { name: string; rules: readonly string[] }[];
}

/** Who asks: the account itself, one of its sub-users, or another account (which has only the roles that name it). */
export interface DecisionCaller {
  kind: 'account' | 'user' | 'other-account';
  login: string;
}

/** What an operation is done to: for listing and creating the collection, else the member itself. */
export interface DecisionResource {
  /** With the account's login: `/demo/keys`, `/demo/keys/laptop`, `/demo`. */
  path: string;
  kind: 'account' | 'collection' | 'member';
  /** Names of the roles that the resource itself is tagged with. */
  tags: readonly string[];
}

export interface DecisionInput {
  caller: DecisionCaller;
  /** Roles of the account; those that the caller has nothing to do with may be left out unless they are named. */
  roles: readonly CallerRole[];
  /** Roles that the request names (`as-role`, `Role`); undefined when it names none. `*` stands for all of the caller's. */
  named?: readonly string[] | undefined;
  resource: DecisionResource;
  /** Operation in lower case. */
  action: string;
  /** Steps that the decision may take; any number when left out. */
  budget?: Budget | undefined;
  /** What conditions look at. */
  context: Omit<RuleRequest, 'action' | 'resource' | 'activeRoles'>;
}

/** The path that led to a permission. */
export type Grant =
  | { kind: 'account' }
  | { kind: 'administrator'; role: string }
  /** `tag` is the role tag that was needed; undefined where the rule's own resource `*` made it needless. */
  | { kind: 'rule'; role: string; policy: string; rule: string; tag?: string };

/** The first thing that was missing on the way through one role. */
export type Missing = 'no-role' | 'unknown-role' | 'not-member' | 'no-policy' | 'broken-rule' | 'no-tag' | Exclude<Outcome, 'allows'>;

export interface Reason {
  missing: Missing;
  /** The role; undefined only for `no-role`. */
  role?: string;
  /** The rule that came nearest, and its policy. */
  policy?: string;
  rule?: string;
  /** As the evaluation says: a condition, a name; for `broken-rule` the parser's message. */
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
      /** One for each role that was looked at. */
      reasons: Reason[];
      /** Roles of the caller that are not active and would allow the request. */
      inactive: string[];
    };

/** The roles that are active for a request, and those that it names in vain. */
export interface Activation<R> {
  active: R[];
  refused: { role: string; missing: 'unknown-role' | 'not-member' }[];
}

/** The active roles (compute document, "Access-control rules", 3): the named ones, else the default ones. */
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

/** Stored rules are few and asked at every request: each is parsed once, and the oldest forgotten when there are too many. Undefined: too many steps. */
function readRule(text: string, budget: Budget): Rule | PolicySyntaxError | undefined {
  const known = cached.get(text);
  if (known) return known;
  // Parsing takes up to 100 ns for each character.
  budget.left -= text.length * 10;
  if (isExhausted(budget)) return undefined;
  const parsed = parseOrError(text);
  const [oldest] = cached.keys();
  if (cached.size >= mostCached && oldest !== undefined) cached.delete(oldest);
  cached.set(text, parsed);
  return parsed;
}

function parseOrError(text: string): Rule | PolicySyntaxError {
  try {
    return parseRule(text);
  } catch (error) {
    if (error instanceof PolicySyntaxError) return error;
    throw error;
  }
}

/** How far on the way to a permission something stopped: the reason that is shown is the one that came furthest. */
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
  const request = { ...input.context, action: input.action, resource: input.resource.path, activeRoles: active };
  const { outcome, detail } = evaluateRule(rule, request, input.budget);
  if (outcome !== 'allows') return { missing: outcome, ...place, ...(detail !== '' && { detail }) };
  if (rule.resources?.kind === 'all') return { kind: 'rule', ...place };
  return input.resource.tags.includes(role.name) ? { kind: 'rule', ...place, tag: role.name } : { missing: 'no-tag', ...place };
}

/** One role's answer: a grant, or what was missing in the rule that came nearest. */
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
 * Whether a caller may do an action on a resource, and why: the one decision of both services and of `policies simulate`, in the order of
 * compute-decisions, "Roles, policies, tags, access". What is not allowed is denied. A named role that is not the caller's denies all.
 * A decision that takes more steps than its budget has denies too, whatever the rules that were not asked would say.
 * The resource's tags are those of the collection for listing and creating, and of the member alone for everything else.
 */
export function decide(input: DecisionInput): Decision {
  const { caller, action, resource } = input;
  const question: Question = { caller, action, path: resource.path, kind: resource.kind };
  if (caller.kind === 'account') return { allowed: true, question, because: { kind: 'account' } };
  const { active, refused } = activateRoles(input.roles, input.named);
  if (refused.length > 0) return { allowed: false, question, reasons: refused, inactive: [] };
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
