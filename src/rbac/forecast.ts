import { computeMd5 } from '../base/fingerprint.ts';
import { parseMember, printMember, type Role } from '../lookup/role.ts';
import type { Access } from './access.ts';
import type { Change, Step } from './change.ts';
import type { RoleDocument } from './document.ts';
import { orderPackages, type Member, type Members } from './paths.ts';
import type { State } from './state.ts';
import { isAtOrBelow, isStoragePath } from './tree.ts';

/** An entity whose name may change; the id identifies it before and after the changes. */
interface Named {
  readonly id: string;
  name: string;
}

interface ForecastRole extends Named {
  members: { who: Named | { account: string }; default: boolean }[];
  policies: ForecastPolicy[];
}

interface ForecastPolicy extends Named {
  rules: readonly string[];
}

/** A resource that role tags can be put on. */
export interface ForecastResource {
  /** The same before and after the changes, even if the resource is renamed. */
  readonly id: string;
  /** Path below the account, in the form of {@link import('./state.ts').listTaggable}. */
  path: string;
  tags: ForecastRole[];
}

/** A key, which requests name by its fingerprint or by its name. */
interface ForecastKey {
  /** Undefined for a key of the account itself. */
  readonly user: Named | undefined;
  /** Fingerprint. */
  readonly id: string;
  readonly name: string;
}

/** The parts of an account that decisions use. Users, roles, policies and resources keep their ids when their names change. */
export interface Forecast {
  readonly users: Named[];
  readonly policies: ForecastPolicy[];
  readonly roles: ForecastRole[];
  readonly keys: ForecastKey[];
  readonly packages: readonly Member[];
  readonly resources: ForecastResource[];
  /** Directories and objects by path. */
  readonly entries: Map<string, ForecastResource>;
}

type MemberWho = ForecastRole['members'][number]['who'];

function findByName<T extends Named>(list: readonly T[], name: string): T | undefined {
  return list.find((each) => each.name === name);
}

function findById<T extends Named>(list: readonly T[], id: string | undefined): T | undefined {
  return list.find((each) => each.id === id);
}

function findUserNamed({ users }: Forecast, login: string): Named | undefined {
  return users.find(({ name }) => name.toLowerCase() === login.toLowerCase());
}

function findMember(forecast: Forecast, { type, login }: Pick<Role['members'][number], 'type' | 'login'>): MemberWho | undefined {
  return type === 'account' ? { account: login } : findUserNamed(forecast, login);
}

function findPolicies({ policies }: Forecast, names: readonly string[]): ForecastPolicy[] {
  return [...new Set(names)].flatMap((name) => findByName(policies, name) ?? []);
}

/** The current state of the account. @param paths of all resources, @param tags names of roles by path */
export function takeForecast(state: State, paths: readonly string[], tags: Readonly<Record<string, readonly string[]>>): Forecast {
  const forecast: Forecast = {
    users: state.users.map(({ id, login }) => ({ id, name: login })),
    policies: state.policies.map(({ id, name, rules }) => ({ id, name, rules })),
    roles: state.roles.map(({ id, name }) => ({ id, name, members: [], policies: [] })),
    keys: [],
    packages: orderPackages(state.packages),
    resources: [],
    entries: new Map(),
  };
  for (const { keys, user } of [{ keys: state.keys, user: undefined }, ...state.users.map(({ keys, id }) => ({ keys, user: id }))]) {
    const owner = findById(forecast.users, user);
    forecast.keys.push(...keys.map(({ fingerprint, name }) => ({ user: owner, id: fingerprint, name })));
  }
  for (const [at, { members, policies }] of state.roles.entries()) {
    const role = forecast.roles[at];
    if (!role) continue;
    role.members = members.flatMap((member) => {
      const who = findMember(forecast, member);
      return who ? [{ who, default: member.default }] : [];
    });
    role.policies = findPolicies(
      forecast,
      policies.map(({ name }) => name),
    );
  }
  for (const path of new Set([...paths, ...Object.keys(tags)])) {
    const resource = { id: path, path, tags: (tags[path] ?? []).flatMap((name) => findByName(forecast.roles, name) ?? []) };
    if (isStoragePath(path)) forecast.entries.set(path, resource);
    else forecast.resources.push(resource);
  }
  return forecast;
}

function addResource({ resources }: Forecast, path: string): void {
  if (!resources.some((each) => each.path === path)) resources.push({ id: `new:${path}`, path, tags: [] });
}

function removeResources({ resources }: Forecast, above: string): void {
  const kept = resources.filter(({ path }) => !isAtOrBelow(path, above));
  resources.splice(0, resources.length, ...kept);
}

function moveResources({ resources }: Forecast, from: string, to: string): void {
  for (const each of resources) if (isAtOrBelow(each.path, from)) each.path = `${to}${each.path.slice(from.length)}`;
}

function rename(forecast: Forecast, collection: string, named: Named, name: string): void {
  moveResources(forecast, `${collection}/${named.name}`, `${collection}/${name}`);
  named.name = name;
}

function remove<T extends Named>(forecast: Forecast, collection: string, list: T[], id: string): T | undefined {
  const at = list.findIndex((each) => each.id === id);
  const [gone] = at < 0 ? [] : list.splice(at, 1);
  if (gone) removeResources(forecast, `${collection}/${gone.name}`);
  return gone;
}

/** Sets the members of a role. A list that the step omits stays, but a default member who is listed in `members` loses the default. */
function setMembers(forecast: Forecast, role: ForecastRole, fields: Partial<Pick<RoleDocument, 'members' | 'default_members'>>): void {
  const { members, default_members: defaults } = fields;
  if (members === undefined && defaults === undefined) return;
  const print = ({ who }: ForecastRole['members'][number]): string =>
    'account' in who ? printMember({ type: 'account', login: who.account }) : who.name;
  const pick = (isDefault: boolean): string[] => role.members.filter((member) => member.default === isDefault).map(print);
  const byDefault = new Set(defaults ?? pick(true).filter((word) => !members?.includes(word)));
  const plain = (members ?? pick(false)).filter((word) => !byDefault.has(word));
  const read = (words: Iterable<string>, isDefault: boolean): ForecastRole['members'] =>
    [...new Set(words)].flatMap((word) => {
      const who = findMember(forecast, parseMember(word, isDefault));
      return who ? [{ who, default: isDefault }] : [];
    });
  role.members = [...read(byDefault, true), ...read(plain, false)];
}

function setRole(forecast: Forecast, role: ForecastRole, fields: Partial<Omit<RoleDocument, 'id'>>): void {
  if (fields.name !== undefined && fields.name !== role.name) rename(forecast, 'roles', role, fields.name);
  setMembers(forecast, role, fields);
  if (fields.policies) role.policies = findPolicies(forecast, fields.policies);
}

type Takers = { readonly [D in Step['do']]: (forecast: Forecast, step: Extract<Step, { do: D }>) => void };

/** The effect of each step of a plan. */
const takers: Takers = {
  createUser: (forecast, { user: { login } }) => {
    forecast.users.push({ id: `new:${login}`, name: login });
    addResource(forecast, `users/${login}`);
    addResource(forecast, `users/${login}/keys`);
  },
  updateUser: (forecast, { id, fields: { login } }) => {
    const user = findById(forecast.users, id);
    if (user && login !== undefined) rename(forecast, 'users', user, login);
  },
  deleteUser: (forecast, { id }) => {
    const gone = remove(forecast, 'users', forecast.users, id);
    for (const role of forecast.roles) role.members = role.members.filter(({ who }) => who !== gone);
  },
  createKey: (forecast, { id, login, key }) => {
    const user = findById(forecast.users, id) ?? findUserNamed(forecast, login);
    const fingerprint = computeMd5(key.key, login);
    addResource(forecast, `users/${user?.name ?? login}/keys/${fingerprint}`);
    forecast.keys.push({ user, id: fingerprint, name: key.name ?? fingerprint });
  },
  deleteKey: (forecast, { id, fingerprint, returns }) => {
    const user = findById(forecast.users, id);
    const at = forecast.keys.findIndex((each) => user !== undefined && each.user === user && each.id === fingerprint);
    if (at >= 0) forecast.keys.splice(at, 1);
    // A key that is registered again under another name gets its tags back.
    if (user && !returns) removeResources(forecast, `users/${user.name}/keys/${fingerprint}`);
  },
  createPolicy: (forecast, { policy: { name, rules } }) => {
    forecast.policies.push({ id: `new:${name}`, name, rules });
    addResource(forecast, `policies/${name}`);
  },
  updatePolicy: (forecast, { id, fields: { name, rules } }) => {
    const policy = findById(forecast.policies, id);
    if (!policy) return;
    if (name !== undefined) rename(forecast, 'policies', policy, name);
    policy.rules = rules ?? policy.rules;
  },
  deletePolicy: (forecast, { id }) => {
    const gone = remove(forecast, 'policies', forecast.policies, id);
    for (const role of forecast.roles) role.policies = role.policies.filter((policy) => policy !== gone);
  },
  createRole: (forecast, { role: { id: _id, ...fields } }) => {
    const role: ForecastRole = { id: `new:${fields.name}`, name: fields.name, members: [], policies: [] };
    forecast.roles.push(role);
    addResource(forecast, `roles/${role.name}`);
    setRole(forecast, role, fields);
  },
  updateRole: (forecast, { id, fields }) => {
    const role = findById(forecast.roles, id);
    if (role) setRole(forecast, role, fields);
  },
  deleteRole: (forecast, { id }) => {
    const gone = remove(forecast, 'roles', forecast.roles, id);
    for (const each of [...forecast.resources, ...forecast.entries.values()]) each.tags = each.tags.filter((role) => role !== gone);
  },
  setTags: (forecast, { path, roles }) => {
    const tags = roles.flatMap((name) => findByName(forecast.roles, name) ?? []);
    const entry = forecast.entries.get(path);
    if (entry) {
      entry.tags = tags;
      return;
    }
    addResource(forecast, path);
    for (const each of forecast.resources) if (each.path === path) each.tags = tags;
  },
};

/** Applies changes to a forecast, in order; modifies `forecast`. */
export function takeChanges(forecast: Forecast, changes: readonly Pick<Change, 'step'>[]): void {
  for (const { step } of changes) (takers[step.do] as (forecast: Forecast, step: Step) => void)(forecast, step);
}

/** The users, roles and policies in the form that decisions use. */
export function toAccess({ users, policies, roles }: Forecast): Pick<Access, 'users' | 'policies' | 'roles'> {
  return {
    users: users.map(({ id, name }) => ({ id, login: name })),
    policies: policies.map(({ id, name, rules }) => ({ id, name, rules })),
    roles: roles.map(({ name, members, policies: held }) => ({
      name,
      members: members.map(({ who, default: isDefault }) =>
        'account' in who
          ? { type: 'account', login: who.account, default: isDefault }
          : { type: 'subuser', login: who.name, default: isDefault },
      ),
      policies: held.map(({ id, name: policy }) => ({ id, name: policy })),
    })),
  };
}

/** The id by which requests can name an entity: before the changes are made, a new one has only its name. */
function idOf({ id, name }: Named): string {
  return id.startsWith('new:') ? name : id;
}

/** All members by name and id. */
export function toMembers({ users, policies, roles, keys, packages }: Forecast): Members {
  const identify = (named: readonly Named[]): Member[] => named.map((each) => ({ id: idOf(each), name: each.name }));
  return {
    users: identify(users),
    policies: identify(policies),
    roles: identify(roles),
    packages,
    listKeys: (user) => keys.filter((key) => (key.user && idOf(key.user)) === user),
  };
}
