import { decide, type CallerRole, type DecisionCaller, type DecisionInput, type Grant } from '../policy/decide.ts';
import type { Access } from './access.ts';

/** The question that is decided for each caller. */
export type Question = Pick<DecisionInput, 'resource' | 'action' | 'context'>;

/** The permission of a caller and its reason. */
export interface Permission {
  /** The grant; undefined when the caller has no permission. */
  because: Grant | undefined;
  /** Role names for `--role`, each sufficient alone; `*` if all roles together are needed. Empty when no role has to be named. */
  ask: string[];
  /** Names that conditions use and the request lacks. */
  missing: string[];
}

/** Decides with the default roles, then with each role of the caller alone, then with all of them. */
export function findPermission(caller: DecisionCaller, roles: readonly CallerRole[], question: Question): Permission {
  const plain = decide({ caller, roles, ...question });
  if (plain.allowed) return { because: plain.because, ask: [], missing: [] };
  const missing = plain.reasons.flatMap(({ missing: what, detail }) => (what === 'missing-name' && detail !== undefined ? [detail] : []));
  const own = roles.filter(({ membership }) => membership !== 'none').map(({ name }) => name);
  const answers = own.map((name) => ({ name, decision: decide({ caller, roles, named: [name], ...question }) }));
  const [first] = answers.flatMap(({ decision }) => (decision.allowed ? [decision.because] : []));
  if (first) return { because: first, ask: answers.filter(({ decision }) => decision.allowed).map(({ name }) => name), missing };
  const whole = own.length > 1 ? decide({ caller, roles, named: ['*'], ...question }) : undefined;
  return whole?.allowed === true ? { because: whole.because, ask: ['*'], missing } : { because: undefined, ask: [], missing };
}

/** All possible callers: the account, its sub-users, and other accounts that are members of its roles. */
export function listCallers({ users, roles }: Pick<Access, 'users' | 'roles'>, account: string): DecisionCaller[] {
  const others = roles.flatMap(({ members }) => members.filter(({ type }) => type === 'account').map(({ login }) => login));
  return [
    { kind: 'account', login: account },
    ...users.map(({ login }) => ({ kind: 'user' as const, login })),
    ...[...new Set(others)].filter((login) => login !== account).map((login) => ({ kind: 'other-account' as const, login })),
  ];
}

/** A caller in the form that `policies simulate` accepts: `alice`, `account:other`. */
export function printCaller({ kind, login }: DecisionCaller): string {
  return kind === 'user' ? login : `account:${login}`;
}
