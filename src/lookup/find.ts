import type { Policy, User } from '../api/resources.ts';
import type { Context } from '../cli/command.ts';
import { createAbsentError, findNamed, requireNamed } from '../cli/named.ts';
import { explainUnlisted, isForbidden } from '../cli/shapes.ts';
import { ApiError } from '../base/errors.ts';
import { isUuid } from '../base/uuid.ts';
import { askRole, listRoles, type FoundRole, type Role } from './role.ts';

type Session = Pick<Context, 'compute' | 'account'>;

/** The word if it is a whole UUID, else undefined. */
export function readUuid(word: string): string | undefined {
  return isUuid(word) ? word : undefined;
}

/** True for a word that may be an id or the beginning of one. */
export function isIdLike(word: string): boolean {
  return /^[\da-f-]{8,}$/i.test(word);
}

function isRefused(error: unknown, ...statuses: readonly number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status);
}

/**
 * Requests one entity by its whole name: a sub-user may have the right to get it but not to list all. If the service does not find it,
 * forbids it, or rejects the name, searches the list; if listing is forbidden too, throws the first error, which is more informative.
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

/** Searches a list by name. @throws {ApiError} that explains why the right to list is needed */
export async function searchByName<T>(noun: string, word: string, search: () => Promise<T>, idWord?: string): Promise<T> {
  try {
    return await search();
  } catch (error) {
    throw explainUnlisted(error, noun, word, idWord);
  }
}

/** Compares logins, ignoring case. */
export function isSameLogin(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** Finds a user in a list by login, id or the beginning of the id. @throws {UsageError} when several users match */
export function pickUser<U extends Pick<User, 'id' | 'login'>>(users: readonly U[], word: string): U | undefined {
  const named = users.map(({ id, login }) => ({ id, name: login }));
  const found = findNamed(named, word, 'user');
  return users.find(({ id, login }) => (found === undefined ? isSameLogin(login, word) : id === found.id));
}

/** Finds a user in a list by login, id or the beginning of the id. @throws {NotFoundError} when no user matches */
export function requireUser(users: readonly User[], word: string): User {
  const found = pickUser(users, word);
  if (found) return found;
  const named = users.map(({ id, login }) => ({ id, name: login }));
  throw createAbsentError('user', word, named, 'cloud users list');
}

/** Finds a sub-user by login, id or the beginning of the id. @throws {NotFoundError} when no user matches */
export async function findUser({ compute, account }: Session, word: string): Promise<User> {
  const search = async (): Promise<User> => requireUser(await compute.listUsers({ account }), word);
  if (isIdLike(word) && !isUuid(word)) return await searchByName('user', word, search);
  return await askOrSearch(() => compute.getUser({ account, user: word }), search);
}

/** Finds a user to be changed: if users may not be read, a whole id is used unchecked. */
export async function identifyUser(session: Session, word: string): Promise<Pick<User, 'id' | 'login'>> {
  try {
    return await findUser(session, word);
  } catch (error) {
    if (isUuid(word) && isForbidden(error)) return { id: word, login: word };
    throw isIdLike(word) ? error : explainUnlisted(error, 'user', word);
  }
}

/** Finds a role in a list by name, id or the beginning of the id. @throws {NotFoundError} when no role matches */
export function requireRole(roles: readonly Role[], word: string): Role {
  return requireNamed(roles, word, 'role', 'cloud roles list');
}

/** Finds a role by name, id or the beginning of the id, with the service's form of roles. @throws {NotFoundError} when none matches */
export async function lookUpRole(session: Session, word: string): Promise<FoundRole> {
  const search = async (): Promise<FoundRole> => {
    const { roles, isOld } = await listRoles(session);
    return { role: requireRole(roles, word), isOld };
  };
  if (isIdLike(word) && !isUuid(word)) return await searchByName('role', word, search);
  return await askOrSearch(() => askRole(session, word), search);
}

/** Finds a role by name, id or the beginning of the id. @throws {NotFoundError} when no role matches */
export async function findRole(session: Session, word: string): Promise<Role> {
  return (await lookUpRole(session, word)).role;
}

/** Finds a policy in a list by name, id or the beginning of the id. @throws {NotFoundError} when no policy matches */
export function requirePolicy(policies: readonly Policy[], word: string): Policy {
  return requireNamed(policies, word, 'policy', 'cloud policies list');
}

/** Finds a policy by name, id or the beginning of the id. @throws {NotFoundError} when no policy matches */
export async function findPolicy({ compute, account }: Session, word: string): Promise<Policy> {
  const search = async (): Promise<Policy> => requirePolicy(await compute.listPolicies({ account }), word);
  if (!isUuid(word)) return await searchByName('policy', word, search);
  return await askOrSearch(() => compute.getPolicy({ account, policy: word }), search);
}
