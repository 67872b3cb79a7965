import type { CallerRole, DecisionCaller, DecisionInput } from '../policy/decide.ts';
import { requestPath, readResource, type Resource } from '../lookup/resource.ts';
import { listCallerRoles } from './access.ts';
import { toAccess, toMembers, type Forecast, type ForecastResource } from './forecast.ts';
import { listPaths } from './paths.ts';
import { findPermission, listCallers, printCaller } from './permission.ts';

/** An action and its targets. `fits` is undefined for actions on resources that no document contains, such as objects and instances. */
export interface Deed {
  action: string;
  method: string | undefined;
  fits: ((resource: Resource) => boolean) | undefined;
  /** True for actions on directories and objects. */
  isStorage: boolean;
}

/** An action that a user may do after a change but not before, or the reverse. */
export interface Effect {
  /** `alice`, `alice (deleted)`, or `account:LOGIN`. */
  user: string;
  change: 'granted' | 'revoked';
  /** Path below the account; `tagged:ROLE` for each object and instance with this role tag, `*` for all of them. */
  resource: string;
  actions: string[];
  /** `no`, `yes`, or `role NAME` when the role has to be requested. */
  before: string;
  after: string;
}

/** The target of a decision: a resource with its tags, before or after the change. */
interface Target {
  label: string;
  path: string;
  /** All paths, with names and with ids; default: `path`. */
  paths?: readonly string[];
  resource: Resource | undefined;
  /** True for a directory or object of a tree. */
  isEntry?: true;
  tags: readonly string[];
}

/** The account before or after the change. */
interface Side {
  callers: ReadonlyMap<string, { caller: DecisionCaller; roles: readonly CallerRole[] }>;
  targets: ReadonlyMap<string, Target>;
}

/** Targets that are compared in addition to the named resources. */
interface Scope {
  /** Names of all roles by id. */
  known: ReadonlyMap<string, string>;
  /** Paths of directories and objects whose role tags change. */
  moved: ReadonlySet<string>;
}

/** Marks the name of a deleted user or role, since another may have the name after the change. */
function nameGone(name: string): string {
  return `${name} (deleted)`;
}

/** Directories and objects whose role tags change; `tagged:ROLE` covers the others. */
function listMoved(before: Forecast, after: Forecast): Set<string> {
  const print = (resource: ForecastResource | undefined): string | undefined =>
    resource?.tags
      .map(({ id }) => id)
      .toSorted()
      .join();
  return new Set([...after.entries.keys()].filter((path) => print(before.entries.get(path)) !== print(after.entries.get(path))));
}

function* listEntries({ entries }: Forecast, account: string, moved: ReadonlySet<string>): Generator<[string, Target]> {
  for (const { id, path, tags } of entries.values()) {
    if (!moved.has(path)) continue;
    yield [id, { label: path, path: `/${account}/${path}`, resource: undefined, isEntry: true, tags: tags.map(({ name }) => name) }];
  }
}

/** True if the deed applies to the target. */
function isFitting({ fits, isStorage }: Deed, { resource, isEntry }: Target): boolean {
  if (resource) return fits?.(resource) === true;
  return isEntry ? isStorage : fits === undefined;
}

function listTargets(forecast: Forecast, account: string, { known, moved }: Scope): Map<string, Target> {
  const { resources, roles } = forecast;
  const members = toMembers(forecast);
  const print = (path: string): string => `/${requestPath({ path }, account)}`;
  const named = resources.map(({ id, path, tags }): [string, Target] => {
    const resource = readResource(path, account);
    const paths = listPaths(resource.path, members).map(print);
    return [id, { label: path, path: print(resource.path), paths, resource, tags: tags.map(({ name }) => name) }];
  });
  const path = `/${account}/stor`;
  const tagged = [...known].map(([id, name]): [string, Target] => {
    const role = roles.find((each) => each.id === id);
    const tags = role ? [role.name] : [];
    return [`tagged:${id}`, { label: `tagged:${role?.name ?? nameGone(name)}`, path, resource: undefined, tags }];
  });
  return new Map<string, Target>([
    ...named,
    ['*', { label: '*', path, resource: undefined, tags: [] }],
    ...tagged,
    ...listEntries(forecast, account, moved),
  ]);
}

function takeSide(forecast: Forecast, account: string, scope: Scope): Side {
  const access = toAccess(forecast);
  const ids = new Map(forecast.users.map(({ id, name }) => [name, id]));
  const callers = listCallers(access, account)
    .filter(({ kind }) => kind !== 'account')
    .map((caller) => {
      const id = caller.kind === 'user' ? (ids.get(caller.login) ?? '') : printCaller(caller);
      return [id, { caller, roles: listCallerRoles(access, caller).filter(({ membership }) => membership !== 'none') }] as const;
    });
  return { callers: new Map(callers), targets: listTargets(forecast, account, scope) };
}

const ranks = { no: 0, role: 1, yes: 2 } as const;

/** `no`, `yes`, or `role a or b`. */
function describeAnswer(side: Side, id: string, target: Target | undefined, deed: Deed, context: DecisionInput['context']): string {
  const found = side.callers.get(id);
  if (!found || !target) return 'no';
  const { caller, roles } = found;
  const { path, paths, tags } = target;
  const resource = { path, paths, kind: target.resource?.kind ?? 'member', tags };
  const { because, ask } = findPermission(caller, roles, { resource, action: deed.action, context: { ...context, method: deed.method } });
  if (!because) return 'no';
  return ask.length === 0 ? 'yes' : `role ${ask.join(' or ')}`;
}

function rankOf(answer: string): number {
  return ranks[answer.startsWith('role ') ? 'role' : answer === 'yes' ? 'yes' : 'no'];
}

/** Actions that one caller gains or loses on one resource, keyed by the answers before and after. */
function compareTarget(
  sides: { before: Side; after: Side },
  id: string,
  target: string,
  deeds: readonly Deed[],
  context: DecisionInput['context'],
): Map<string, string[]> {
  const [was, is] = [sides.before.targets.get(target), sides.after.targets.get(target)];
  const changed = new Map<string, string[]>();
  for (const deed of deeds) {
    const before = describeAnswer(sides.before, id, was, deed, context);
    const after = describeAnswer(sides.after, id, is, deed, context);
    if (rankOf(before) === rankOf(after)) continue;
    const key = `${before}\n${after}`;
    changed.set(key, [...(changed.get(key) ?? []), deed.action]);
  }
  return changed;
}

function isSameTarget(a: Target | undefined, b: Target | undefined): boolean {
  return JSON.stringify([a?.path, a?.paths, a?.tags]) === JSON.stringify([b?.path, b?.paths, b?.tags]);
}

/** Drops the actions whose change the entry for `*` already reports. */
function withoutKnown(changed: Map<string, string[]>, everywhere: ReadonlyMap<string, readonly string[]>): Map<string, string[]> {
  return new Map([...changed].map(([key, actions]) => [key, actions.filter((action) => everywhere.get(key)?.includes(action) !== true)]));
}

function* compareCaller(
  sides: { before: Side; after: Side },
  id: string,
  deeds: readonly Deed[],
  context: DecisionInput['context'],
): Generator<Effect> {
  const [was, is] = [sides.before.callers.get(id), sides.after.callers.get(id)];
  const caller = is?.caller ?? was?.caller;
  if (!caller) return;
  // An account that is no longer a member of any role still exists.
  const user = is === undefined && caller.kind === 'user' ? nameGone(caller.login) : printCaller(caller);
  const isSameCaller = JSON.stringify(was?.roles) === JSON.stringify(is?.roles);
  let everywhere: ReadonlyMap<string, readonly string[]> = new Map();
  // Resources that no longer exist afterwards are no loss to anybody.
  for (const [key, target] of sides.after.targets) {
    if (isSameCaller && isSameTarget(sides.before.targets.get(key), target)) continue;
    const { resource } = target;
    const fitting = deeds.filter((deed) => isFitting(deed, target));
    const all = compareTarget(sides, id, key, fitting, context);
    if (key === '*') everywhere = all;
    for (const [answers, actions] of key === '*' ? all : withoutKnown(all, resource ? new Map() : everywhere)) {
      const [before = '', after = ''] = answers.split('\n');
      const change = rankOf(after) > rankOf(before) ? 'granted' : 'revoked';
      if (actions.length > 0) yield { user, change, resource: target.label, actions, before, after };
    }
  }
}

/**
 * Lists the actions that a change of an account grants to and revokes from its users and the accounts that are members of its roles.
 * Resources that no longer exist afterwards are omitted.
 */
export function* listEffects(
  forecasts: { before: Forecast; after: Forecast },
  account: string,
  deeds: readonly Deed[],
  context: DecisionInput['context'],
): Generator<Effect> {
  const known = new Map([...forecasts.before.roles, ...forecasts.after.roles].map(({ id, name }) => [id, name]));
  const scope = { known, moved: listMoved(forecasts.before, forecasts.after) };
  const sides = { before: takeSide(forecasts.before, account, scope), after: takeSide(forecasts.after, account, scope) };
  for (const id of new Set([...sides.before.callers.keys(), ...sides.after.callers.keys()])) {
    yield* compareCaller(sides, id, deeds, context);
  }
}
