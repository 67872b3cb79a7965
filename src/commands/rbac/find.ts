import type { Policy, User } from '../../api/resources.ts';
import type { Context } from '../../cli/command.ts';
import { findNamed } from '../../cli/shapes.ts';
import { NotFoundError } from '../../errors.ts';
import { listRoles, type Role } from './role.ts';

type Session = Pick<Context, 'compute' | 'account'>;

/** Whether a word is a whole UUID. */
export function isUuid(word: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(word);
}

function requireFound<T>(found: T | undefined, noun: string, word: string, list: string): T {
  if (found === undefined) throw new NotFoundError(`${noun} "${word}" does not exist`, { hint: list });
  return found;
}

/** The user of a list that a login, an id or the beginning of an id means. @throws {UsageError} when it means several */
export function pickUser<U extends Pick<User, 'id' | 'login'>>(users: readonly U[], word: string): U | undefined {
  const found = findNamed(
    users.map(({ id, login }) => ({ id, name: login })),
    word,
    'user',
  );
  return users.find(({ id }) => id === found?.id);
}

/** The user of a list that a login, an id or the beginning of an id means. @throws {NotFoundError} when there is none */
export function requireUser(users: readonly User[], word: string): User {
  return requireFound(pickUser(users, word), 'user', word, 'cloud users list');
}

/** Finds a sub-user by login, id or the beginning of its id. @throws {NotFoundError} when there is none */
export async function findUser({ compute, account }: Session, word: string): Promise<User> {
  return requireUser(await compute.listUsers({ account }), word);
}

/** The role of a list that a name, an id or the beginning of an id means. @throws {NotFoundError} when there is none */
export function requireRole(roles: readonly Role[], word: string): Role {
  return requireFound(findNamed(roles, word, 'role'), 'role', word, 'cloud roles list');
}

/** Finds a role by name, id or the beginning of its id. @throws {NotFoundError} when there is none */
export async function findRole(session: Session, word: string): Promise<Role> {
  return requireRole((await listRoles(session)).roles, word);
}

/** The policy of a list that a name, an id or the beginning of an id means. @throws {NotFoundError} when there is none */
export function requirePolicy(policies: readonly Policy[], word: string): Policy {
  return requireFound(findNamed(policies, word, 'policy'), 'policy', word, 'cloud policies list');
}

/** Finds a policy by name, id or the beginning of its id. @throws {NotFoundError} when there is none */
export async function findPolicy({ compute, account }: Session, word: string): Promise<Policy> {
  return requirePolicy(await compute.listPolicies({ account }), word);
}
