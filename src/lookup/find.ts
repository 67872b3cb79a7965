import type { Policy, User } from '../api/resources.ts';
import type { Context } from '../cli/command.ts';
import { createAbsentError, findNamed, requireNamed } from '../cli/named.ts';
import { explainUnlisted, isForbidden } from '../cli/shapes.ts';
import { ApiError } from '../base/errors.ts';
import { askRole, listRoles, type FoundRole, type Role } from './role.ts';

type Session = Pick<Context, 'compute' | 'account'>;

/** Whether a word is a whole UUID. */
export function isUuid(word: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(word);
}

/** A word that is a whole UUID; undefined for every other. */
export function readUuid(word: string): string | undefined {
  return isUuid(word) ? word : undefined;
}

/** Whether a word may be an id or the beginning of one. */
export function isIdLike(word: string): boolean {
  return /^[\da-f-]{8,}$/i.test(word);
}

function isRefused(error: unknown, ...statuses: readonly number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status);
}

/**
 * Asks for one thing by its whole name: a sub-user may have the right to see it and none to list all. When it is not found so, may not
 * be asked for, or cannot stand in a path, it is searched in the list; where that is forbidden too, the first refusal says more.
 */
export async function askOrSearch<T>(ask: () => Promise<T>, search: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (refusal) {
    if (!isRefused(refusal, 400, 403, 404)) throw refusal;
    try {
      return await search();
    } catch (error) {
      throw isForbidden(error) ? refusal : error;
    }
  }
}

/** Searches a list by name. @throws {ApiError} that says what the right to it is needed for */
export async function searchByName<T>(noun: string, word: string, search: () => Promise<T>, idWord?: string): Promise<T> {
  try {
    return await search();
  } catch (error) {
    throw explainUnlisted(error, noun, word, idWord);
  }
}

/** Logins are the same in any case. */
export function isSameLogin(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** The user of a list that a login, an id or the beginning of an id means. @throws {UsageError} when it means several */
export function pickUser<U extends Pick<User, 'id' | 'login'>>(users: readonly U[], word: string): U | undefined {
  const found = findNamed(
    users.map(({ id, login }) => ({ id, name: login })),
    word,
    'user',
  );
  return users.find(({ id, login }) => (found === undefined ? isSameLogin(login, word) : id === found.id));
}

/** The user of a list that a login, an id or the beginning of an id means. @throws {NotFoundError} when there is none */
export function requireUser(users: readonly User[], word: string): User {
  const found = pickUser(users, word);
  if (found) return found;
  throw createAbsentError(
    'user',
    word,
    users.map(({ login }) => login),
    'cloud users list',
  );
}

/** Finds a sub-user by login, id or the beginning of its id. @throws {NotFoundError} when there is none */
export async function findUser({ compute, account }: Session, word: string): Promise<User> {
  const search = async (): Promise<User> => requireUser(await compute.listUsers({ account }), word);
  if (isIdLike(word) && !isUuid(word)) return await searchByName('user', word, search);
  return await askOrSearch(() => compute.getUser({ account, user: word }), search);
}

/** A user to be changed: where users may not be read, a whole id is taken as it is. */
export async function identifyUser(session: Session, word: string): Promise<Pick<User, 'id' | 'login'>> {
  try {
    return await findUser(session, word);
  } catch (error) {
    if (isUuid(word) && isForbidden(error)) return { id: word, login: word };
    throw isIdLike(word) ? error : explainUnlisted(error, 'user', word);
  }
}

/** The role of a list that a name, an id or the beginning of an id means. @throws {NotFoundError} when there is none */
export function requireRole(roles: readonly Role[], word: string): Role {
  return requireNamed(roles, word, 'role', 'cloud roles list');
}

/** Finds a role by name, id or the beginning of its id, and the form in which the service has roles. @throws {NotFoundError} when there is none */
export async function lookUpRole(session: Session, word: string): Promise<FoundRole> {
  const search = async (): Promise<FoundRole> => {
    const { roles, isOld } = await listRoles(session);
    return { role: requireRole(roles, word), isOld };
  };
  if (isIdLike(word) && !isUuid(word)) return await searchByName('role', word, search);
  return await askOrSearch(() => askRole(session, word), search);
}

/** Finds a role by name, id or the beginning of its id. @throws {NotFoundError} when there is none */
export async function findRole(session: Session, word: string): Promise<Role> {
  return (await lookUpRole(session, word)).role;
}

/** The policy of a list that a name, an id or the beginning of an id means. @throws {NotFoundError} when there is none */
export function requirePolicy(policies: readonly Policy[], word: string): Policy {
  return requireNamed(policies, word, 'policy', 'cloud policies list');
}

/** Finds a policy by name, id or the beginning of its id. @throws {NotFoundError} when there is none */
export async function findPolicy({ compute, account }: Session, word: string): Promise<Policy> {
  const search = async (): Promise<Policy> => requirePolicy(await compute.listPolicies({ account }), word);
  if (!isUuid(word)) return await searchByName('policy', word, search);
  return await askOrSearch(() => compute.getPolicy({ account, policy: word }), search);
}
