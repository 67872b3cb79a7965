import type { Entry } from '../../api/objects.ts';
import type { StorageClient } from '../../client/client.ts';
import { NotFoundError } from '../../base/errors.ts';
import { expandBraces } from './braces.ts';
import { inspect } from '../inspect.ts';
import { listEntries } from './list.ts';
import { joinPath, printRemotePath, quoteRemotePath, readRemotePath, type RemotePath } from '../path.ts';
import { assertDepth } from './walk.ts';
import { createMatcher } from './wildcard.ts';

/**
 * How a path on the command line is read: a `name`, whatever characters it has; with `wildcards` a name or, if nothing has that name, a
 * pattern with `*`, `?` and `**`; a `glob`, a pattern that may also have `[...]` and `{...}`.
 */
export type NameForm = 'name' | 'wildcards' | 'glob';

/** A path that an argument expands to. */
export interface Expanded {
  path: RemotePath;
  /** Undefined for a path that was given literally and not looked up. */
  type?: Entry['type'];
  /** True if the argument was a pattern. */
  isMatch: boolean;
}

const escapes = /\\(.)/gsu;

/** True if text has a character that is special in patterns, or a backslash that escapes one. */
export function isPattern(text: string, form: NameForm = 'glob'): boolean {
  return form === 'glob' ? /[*?[{\\]/.test(text) : form === 'wildcards' && /[*?\\]/.test(text);
}

function hasWildcards(part: string, classes: boolean): boolean {
  return (classes ? /[*?[]/ : /[*?]/).test(part.replace(escapes, ''));
}

function unescape(part: string): string {
  return part.replace(escapes, '$1');
}

interface Search {
  readonly storage: StorageClient;
  /** True if `[...]` is a character class. */
  readonly classes: boolean;
}

async function* expandFrom(search: Search, directory: RemotePath, parts: readonly string[]): AsyncGenerator<Expanded> {
  const { storage, classes } = search;
  const [part = '', ...rest] = parts;
  if (part === '**') {
    assertDepth(directory, directory.path.split('/').length);
    // Matches the rest of the pattern in the directory itself and in each one below.
    if (rest.length > 0) yield* expandFrom(search, directory, rest);
    for await (const { name, type } of listEntries(storage, directory)) {
      const path = joinPath(directory, name);
      if (rest.length === 0) yield { path, type, isMatch: true };
      if (type === 'directory') yield* expandFrom(search, path, parts);
    }
    return;
  }
  if (!hasWildcards(part, classes)) {
    const path = joinPath(directory, unescape(part));
    const found = await inspect(storage, path);
    if (found !== undefined && rest.length === 0) yield { path, type: found.type, isMatch: true };
    else if (found?.type === 'directory') yield* expandFrom(search, path, rest);
    return;
  }
  const matches = createMatcher(part, { classes });
  for await (const { name, type } of listEntries(storage, directory)) {
    if (!matches(name)) continue;
    const path = joinPath(directory, name);
    if (rest.length === 0) yield { path, type, isMatch: true };
    else if (type === 'directory') yield* expandFrom(search, path, rest);
  }
}

/** The entries that a pattern matches, in the order of listings. */
async function* expandPattern(search: Search, pattern: RemotePath): AsyncGenerator<Expanded> {
  const parts = pattern.path.split('/');
  const first = parts.findIndex((part) => hasWildcards(part, search.classes));
  const count = first === -1 ? parts.length - 1 : first;
  const base = { account: pattern.account, path: parts.slice(0, count).map(unescape).join('/') };
  if (base.path === '' || (await inspect(search.storage, base))?.type === 'directory') yield* expandFrom(search, base, parts.slice(count));
}

/**
 * Expands an argument to paths, in the order of listings. A name is not looked up.
 * @throws {NotFoundError} when a pattern matches nothing
 */
export async function* expandEntries(storage: StorageClient, account: string, word: string, form: NameForm): AsyncGenerator<Expanded> {
  const named = readRemotePath(word, account);
  if (!isPattern(named.path, form)) {
    yield { path: named, isMatch: false };
    return;
  }
  const isName = form === 'wildcards' ? await inspect(storage, named) : undefined;
  if (isName) {
    yield { path: named, type: isName.type, isMatch: false };
    return;
  }
  const classes = form === 'glob';
  const seen = new Set<string>();
  for (const each of classes ? expandBraces(word) : [word]) {
    for await (const expanded of expandPattern({ storage, classes }, readRemotePath(each, account))) {
      const path = printRemotePath(expanded.path);
      // Consecutive `**` components reach some paths twice.
      if (!seen.has(path)) yield expanded;
      seen.add(path);
    }
  }
  if (seen.size === 0)
    throw new NotFoundError(`${printRemotePath(named)} matches nothing`, { hint: `cloud stor ls ${quoteRemotePath(findBase(named))}` });
}

/** The directory that a pattern searches. */
function findBase({ account, path }: RemotePath): RemotePath {
  const parts = path.split('/');
  const first = parts.findIndex((part) => isPattern(part));
  return { account, path: parts.slice(0, first).join('/') };
}
