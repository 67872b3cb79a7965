import type { Entry } from '../../api/objects.ts';
import type { StorageClient } from '../../client/client.ts';
import { NotFoundError } from '../../base/errors.ts';
import { expandBraces } from './braces.ts';
import { inspect } from '../inspect.ts';
import { listEntries } from './list.ts';
import { joinPath, printRemotePath, quoteRemotePath, readRemotePath, type RemotePath } from '../path.ts';
import { createMatcher } from './wildcard.ts';

/**
 * What a path on the command line is: a `name`, whatever characters it has; with `wildcards` a name, or, where nothing has that name, a
 * pattern with `*`, `?` and `**`; a `glob`, a pattern that may have `[...]` and `{...}` too.
 */
export type NameForm = 'name' | 'wildcards' | 'glob';

/** A path that a word stands for. */
export interface Expanded {
  path: RemotePath;
  /** What is there; undefined for a path that was written out and not looked for. */
  type?: Entry['type'];
  /** The word was a pattern. */
  isMatch: boolean;
}

const escapes = /\\(.)/gsu;

/** Whether text has what only a pattern has, or a backslash that takes the meaning from it. */
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
  /** Whether `[...]` is a class of characters. */
  readonly classes: boolean;
}

async function* expandFrom(search: Search, directory: RemotePath, parts: readonly string[]): AsyncGenerator<Expanded> {
  const { storage, classes } = search;
  const [part = '', ...rest] = parts;
  if (part === '**') {
    // What is in the directory itself, and the same in each one below.
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

/** What a pattern matches, in the order of listings. */
async function* expandPattern(search: Search, pattern: RemotePath): AsyncGenerator<Expanded> {
  const parts = pattern.path.split('/');
  const first = parts.findIndex((part) => hasWildcards(part, search.classes));
  const count = first === -1 ? parts.length - 1 : first;
  const base = { account: pattern.account, path: parts.slice(0, count).map(unescape).join('/') };
  if (base.path === '' || (await inspect(search.storage, base))?.type === 'directory') yield* expandFrom(search, base, parts.slice(count));
}

/**
 * The paths that a word stands for, in the order of listings. A name is not looked for.
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
      // Two stars in a row of components come by some paths twice.
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
