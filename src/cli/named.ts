import { NotFoundError, UsageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import { quoteShell } from '../base/quote.ts';

/** Names, or resources that have one, and may have an id. */
type Candidates = Iterable<string | { readonly name: string; readonly id?: string | undefined }>;

/** Least number of characters of the beginning of an id: fewer could also be a name. */
const leastOfId = 8;

/** Number of characters with which the beginning of an id is hardly another word. */
const likelyId = 4;

/** The hints for a name that does not exist: the id or the most similar name that was meant, and the command that lists all of them. */
export function adviseOnName(word: string, named: Candidates, list: string): string[] {
  const all = Array.from(named, (each) => (typeof each === 'string' ? { name: each } : each));
  const begun = word.length < likelyId ? undefined : all.find(({ id }) => id?.startsWith(word) === true)?.id;
  if (begun !== undefined) return [`of an id, give at least ${leastOfId} characters: ${begun.slice(0, leastOfId)}`, list];
  const close = nearest(word, new Set(all.map(({ name }) => name)));
  return close === undefined ? [list] : [`did you mean ${quoteShell(close)}?`, list];
}

/** The error for a name that does not exist. */
export function createAbsentError(noun: string, word: string, named: Candidates, list: string): NotFoundError {
  return new NotFoundError(`${noun} "${word}" does not exist`, { hint: adviseOnName(word, named, list) });
}

/** A resource that can be named by name, full id or the beginning of its id. */
export interface Named {
  id: string;
  name: string;
}

/**
 * Finds a resource by its full id, its name, or at least eight characters of the beginning of its id.
 * @throws {UsageError} with the candidates when several match
 */
export function findNamed<T extends Named>(candidates: readonly T[], word: string, noun: string): T | undefined {
  const exact = candidates.find(({ id }) => id === word);
  if (exact) return exact;
  const named = candidates.filter(({ name }) => name === word);
  const matches = named.length > 0 || word.length < leastOfId ? named : candidates.filter(({ id }) => id.startsWith(word));
  if (matches.length > 1) {
    const list = matches.map(({ id, name }) => `${id} (${name})`).join(', ');
    throw new UsageError(`${noun} "${word}" is ambiguous: ${list}`, { hint: 'give the full id' });
  }
  return matches[0];
}

/** Like `findNamed`. @param list the command that lists all resources @throws {NotFoundError} when no resource matches */
export function requireNamed<T extends Named>(candidates: readonly T[], word: string, noun: string, list: string): T {
  const found = findNamed(candidates, word, noun);
  if (found) return found;
  throw createAbsentError(noun, word, candidates, list);
}
