import type { StorageClient } from '../client/client.ts';
import { NotFoundError, UsageError } from '../errors.ts';
import { inspect } from './inspect.ts';
import { listEntries } from './list.ts';
import { joinPath, printRemotePath, type RemotePath } from './path.ts';

/** Whether text has a pattern's characters: `*`, `?`, `[`. */
export function isPattern(text: string): boolean {
  return /[*?[]/.test(text);
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

/** `[a-z]`, `[!a-z]` at the beginning of a pattern as a regular expression; undefined for a bracket that stands for itself. */
function readClass(pattern: string): { source: string; length: number } | undefined {
  const found = /^\[([!^]?)(\]?[^\]]*)\]/.exec(pattern);
  if (!found) return undefined;
  const [whole, negation = '', content = ''] = found;
  const source = content.replace(/[\\^[\]]/g, '\\$&');
  return { source: `[${negation === '' ? '' : '^/'}${source}]`, length: whole.length };
}

function toSource(pattern: string): string {
  let source = '';
  for (let at = 0; at < pattern.length;) {
    const rest = pattern.slice(at);
    const group = readClass(rest);
    if (rest.startsWith('**/')) source += '(?:[^/]+/)*';
    else if (rest.startsWith('**')) source += '.*';
    else if (rest.startsWith('*')) source += '[^/]*';
    else if (rest.startsWith('?')) source += '[^/]';
    else if (group) source += group.source;
    else source += escapeRegExp(String.fromCodePoint(rest.codePointAt(0) ?? 0));
    at += rest.startsWith('**/') ? 3 : rest.startsWith('**') ? 2 : (group?.length ?? String.fromCodePoint(rest.codePointAt(0) ?? 0).length);
  }
  return source;
}

/** A test for names or paths: `*` and `?` stop at slashes, `**` does not. @throws {UsageError} for a class that is none, such as `[z-a]` */
export function createMatcher(pattern: string): (text: string) => boolean {
  let expression: RegExp;
  try {
    expression = new RegExp(`^${toSource(pattern)}$`, 'su');
  } catch (error) {
    throw new UsageError(`"${pattern}" is not a pattern`, { cause: error, hint: 'patterns have *, ?, [a-z], [!a-z] and **' });
  }
  return (text) => expression.test(text);
}

async function* expandFrom(storage: StorageClient, directory: RemotePath, parts: readonly string[]): AsyncGenerator<RemotePath> {
  const [part = '', ...rest] = parts;
  if (part === '**') {
    // What is in the directory itself, and the same in each one below.
    if (rest.length > 0) yield* expandFrom(storage, directory, rest);
    for await (const { name, type } of listEntries(storage, directory)) {
      const path = joinPath(directory, name);
      if (rest.length === 0) yield path;
      if (type === 'directory') yield* expandFrom(storage, path, parts);
    }
    return;
  }
  if (!isPattern(part)) {
    const path = joinPath(directory, part);
    const found = await inspect(storage, path);
    if (found !== undefined && rest.length === 0) yield path;
    else if (found?.type === 'directory') yield* expandFrom(storage, path, rest);
    return;
  }
  const matches = createMatcher(part);
  for await (const { name, type } of listEntries(storage, directory)) {
    if (!matches(name)) continue;
    const path = joinPath(directory, name);
    if (rest.length === 0) yield path;
    else if (type === 'directory') yield* expandFrom(storage, path, rest);
  }
}

/**
 * The paths that a pattern stands for, in the order of listings. A path that exists as it is typed is taken as it is.
 * @throws {NotFoundError} when there is none
 */
export async function* expandPattern(storage: StorageClient, pattern: RemotePath): AsyncGenerator<RemotePath> {
  const parts = pattern.path.split('/');
  const first = parts.findIndex(isPattern);
  if (first === -1) {
    yield pattern;
    return;
  }
  const base = { account: pattern.account, path: parts.slice(0, first).join('/') };
  if (await inspect(storage, pattern)) {
    yield pattern;
    return;
  }
  const seen = new Set<string>();
  if (base.path === '' || (await inspect(storage, base))?.type === 'directory') {
    for await (const path of expandFrom(storage, base, parts.slice(first))) {
      // Two stars in a row of components come by some paths twice.
      if (!seen.has(path.path)) yield path;
      seen.add(path.path);
    }
  }
  if (seen.size === 0)
    throw new NotFoundError(`${printRemotePath(pattern)} matches nothing`, { hint: `cloud stor ls ${printRemotePath(base)}` });
}
