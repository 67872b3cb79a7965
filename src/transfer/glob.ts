import type { Entry } from '../api/objects.ts';
import type { StorageClient } from '../client/client.ts';
import { NotFoundError } from '../errors.ts';
import { inspect } from './inspect.ts';
import { listEntries } from './list.ts';
import { joinPath, printRemotePath, quoteRemotePath, type RemotePath } from './path.ts';
import { createMatcher } from './wildcard.ts';

/** Whether text has a pattern's characters: `*`, `?`, `[`. */
export function isPattern(text: string): boolean {
  return /[*?[]/.test(text);
}

/** A path that a pattern stands for. */
export interface Expanded {
  path: RemotePath;
  /** What is there; undefined for a path that was written out and not looked for. */
  type?: Entry['type'];
}

async function* expandFrom(storage: StorageClient, directory: RemotePath, parts: readonly string[]): AsyncGenerator<Expanded> {
  const [part = '', ...rest] = parts;
  if (part === '**') {
    // What is in the directory itself, and the same in each one below.
    if (rest.length > 0) yield* expandFrom(storage, directory, rest);
    for await (const { name, type } of listEntries(storage, directory)) {
      const path = joinPath(directory, name);
      if (rest.length === 0) yield { path, type };
      if (type === 'directory') yield* expandFrom(storage, path, parts);
    }
    return;
  }
  if (!isPattern(part)) {
    const path = joinPath(directory, part);
    const found = await inspect(storage, path);
    if (found !== undefined && rest.length === 0) yield { path, type: found.type };
    else if (found?.type === 'directory') yield* expandFrom(storage, path, rest);
    return;
  }
  const matches = createMatcher(part);
  for await (const { name, type } of listEntries(storage, directory)) {
    if (!matches(name)) continue;
    const path = joinPath(directory, name);
    if (rest.length === 0) yield { path, type };
    else if (type === 'directory') yield* expandFrom(storage, path, rest);
  }
}

/**
 * The paths that a pattern stands for, in the order of listings. A path that exists as it is typed is taken as it is.
 * @throws {NotFoundError} when there is none
 */
export async function* expandEntries(storage: StorageClient, pattern: RemotePath): AsyncGenerator<Expanded> {
  const parts = pattern.path.split('/');
  const first = parts.findIndex(isPattern);
  if (first === -1) {
    yield { path: pattern };
    return;
  }
  const base = { account: pattern.account, path: parts.slice(0, first).join('/') };
  if (await inspect(storage, pattern)) {
    yield { path: pattern };
    return;
  }
  const seen = new Set<string>();
  if (base.path === '' || (await inspect(storage, base))?.type === 'directory') {
    for await (const expanded of expandFrom(storage, base, parts.slice(first))) {
      // Two stars in a row of components come by some paths twice.
      if (!seen.has(expanded.path.path)) yield expanded;
      seen.add(expanded.path.path);
    }
  }
  if (seen.size === 0)
    throw new NotFoundError(`${printRemotePath(pattern)} matches nothing`, { hint: `cloud stor ls ${quoteRemotePath(base)}` });
}

/** The same without what is at the paths. @throws {NotFoundError} when there is none */
export async function* expandPattern(storage: StorageClient, pattern: RemotePath): AsyncGenerator<RemotePath> {
  for await (const { path } of expandEntries(storage, pattern)) yield path;
}
