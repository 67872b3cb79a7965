import { contactFields } from '../api/resources.ts';
import { UsageError } from '../base/errors.ts';
import { compareFields, type Change } from './change.ts';
import type { RbacDocument, UserDocument } from './document.ts';
import { computeMd5 } from '../base/fingerprint.ts';
import type { Existing, Pair, Wanted } from './match.ts';
import { planPart, type Part } from './plan-part.ts';
import type { State } from './state.ts';

type StateUser = State['users'][number];

function deleteKey(login: string, id: string, { name, fingerprint }: StateUser['keys'][number], returns?: true): Change {
  return {
    action: 'delete',
    kind: 'key',
    name: `${login}/${name}`,
    differences: [],
    step: { do: 'deleteKey', login, id, fingerprint, ...(returns && { returns }) },
  };
}

/** Rejects renaming an attested key: it would have to be registered again, and the document contains no attestations. */
function refuseAttested(login: string, { name, attested }: StateUser['keys'][number]): void {
  if (attested !== true) return;
  throw new UsageError(`users: ${login}: the key ${name} is attested, and would not be under another name`, {
    hint: 'leave its name as it is',
  });
}

/** No operation renames a key: it is deleted and registered again. */
function planKeys({ login, keys }: UserDocument, user: StateUser | undefined, prune: boolean): Change[] {
  if (keys === undefined) return [];
  const wanted = keys.map((key, at) => ({ ...key, fingerprint: computeMd5(key.key, `users: ${login}: keys[${at}]`) }));
  const twice = wanted.find(({ fingerprint }, at) => wanted.findIndex((other) => other.fingerprint === fingerprint) !== at);
  if (twice) throw new UsageError(`users: ${login}: the key ${twice.name ?? twice.fingerprint} is listed twice`);
  const existing = user?.keys ?? [];
  const changes: Change[] = [];
  for (const { fingerprint, ...key } of wanted) {
    const found = existing.find((each) => each.fingerprint === fingerprint);
    if (found && (key.name === undefined || key.name === found.name)) continue;
    if (found && user) {
      refuseAttested(login, found);
      changes.push(deleteKey(login, user.id, found, true));
    }
    const name = `${login}/${key.name ?? fingerprint}`;
    const step = { do: 'createKey' as const, login, ...(user && { id: user.id }), key };
    changes.push({ action: 'create', kind: 'key', name, differences: compareFields({ fingerprint }, {}), step });
  }
  const rest = existing.filter(({ fingerprint }) => !wanted.some((each) => each.fingerprint === fingerprint));
  return prune && user ? [...rest.map((key) => deleteKey(login, user.id, key)), ...changes] : changes;
}

function contactOf(user: UserDocument): Record<string, unknown> {
  return Object.fromEntries(Object.entries(user).filter(([name, value]) => name in contactFields && value !== undefined));
}

function settleUser({ wanted, existing }: Pair<UserDocument & Wanted, StateUser & Existing>, prune: boolean): Change[] {
  const { name: login, ...user } = wanted;
  const fields = { login, ...contactOf(user) };
  const keys = planKeys(user, existing, prune);
  if (!existing) {
    return [
      { action: 'create', kind: 'user', name: login, differences: compareFields(fields, {}), step: { do: 'createUser', user } },
      ...keys,
    ];
  }
  const differences = compareFields(fields, { ...existing });
  if (differences.length === 0) return keys;
  const changed = Object.fromEntries(differences.map(({ field, to }) => [field, String(to)]));
  const step = { do: 'updateUser' as const, id: existing.id, fields: changed };
  return [{ action: 'update', kind: 'user', name: existing.login, differences, step }, ...keys];
}

/** The changes of users and their keys. Logins are unique without regard to case. */
export function planUsers({ users }: RbacDocument, state: State, prune: boolean): Part {
  return planPart({
    noun: 'user',
    wanted: users?.map((user) => ({ ...user, name: user.login })),
    existing: state.users.map((user) => ({ ...user, name: user.login })),
    fold: (login) => login.toLowerCase(),
    prune,
    field: 'login',
    rename: (id, login) => ({ do: 'updateUser', id, fields: { login } }),
    remove: (id) => ({ do: 'deleteUser', id }),
    settle: (pair) => settleUser(pair, prune),
  });
}
